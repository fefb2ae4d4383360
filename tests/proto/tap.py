"""A wire tap between the daemon and its upstream: passes all bytes on and keeps every
record of both directions, so that a test can compare what came in with what went out.
"""

import collections
import selectors
import socket
import struct
import threading

Exchange = collections.namedtuple("Exchange", "call reply")


class Tap:
    """Stands for its FaultServer in Proxy(tap). A context manager."""

    def __init__(self, server):
        self.server = server
        self.export = server.export
        self.lock = threading.Lock()
        self.calls = {}  # (connection, xid): record
        self.done = []  # Exchanges, in the order of the replies

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.wake, self.stop = socket.socketpair()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.close()
        self.thread.join()

    def last(self, number, program=100003):
        """The last exchange of a procedure."""
        want = struct.pack(">I", program), struct.pack(">I", number)
        with self.lock:
            for e in reversed(self.done):
                if (e.call[12:16], e.call[20:24]) == want:
                    return e
        raise AssertionError(f"no call of program {program} procedure {number}")

    def _run(self):
        with selectors.DefaultSelector() as self.selector:
            self.selector.register(self.listener, selectors.EVENT_READ, None)
            self.selector.register(self.wake, selectors.EVENT_READ, "wake")
            self.open = set()
            while self._turn():
                pass
            for sock in self.open | {self.listener, self.wake}:
                sock.close()

    def _turn(self):
        for key, _ in self.selector.select():
            if key.data == "wake":
                return False
            if key.data is None:
                self._accept()
            else:
                self._move(key.fileobj, *key.data)
        return True

    def _accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.server.port))
        for sock, other, upward in ((near, far, True), (far, near, False)):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.open.add(sock)
            data = (other, near, upward, bytearray())
            self.selector.register(sock, selectors.EVENT_READ, data)

    def _move(self, sock, other, conn, upward, kept):
        if sock not in self.open:
            return
        try:
            got = sock.recv(1 << 18)
            kept += got
            self._cut(conn, upward, kept)
            other.sendall(got)
        except OSError:
            got = b""
        if not got:
            for s in (sock, other):
                self.selector.unregister(s)
                self.open.discard(s)
                s.close()

    def _cut(self, conn, upward, kept):
        """Both programs under test send whole records in one fragment."""
        while len(kept) >= 4:
            mark = struct.unpack(">I", kept[:4])[0]
            assert mark & 0x80000000
            n = 4 + (mark & 0x7FFFFFFF)
            if len(kept) < n:
                return
            record = bytes(kept[4:n])
            del kept[:n]
            with self.lock:
                if upward:
                    self.calls[conn, record[:4]] = record
                else:
                    call = self.calls.pop((conn, record[:4]))
                    self.done.append(Exchange(call, record))
