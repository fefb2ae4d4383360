"""the upstream cannot be reached for a while: writers wait, nothing is lost"""
import select
import socket
import struct
import threading
import time

from lib import records
from lib.bench import MOUNT_POINT, CheckError

AWAY_QUICK, AWAY_FULL = 20, 90
# A client reconnects with growing pauses, so a return to work can take a while.
BACK_SECONDS = 180
# The first may have been under way before; the second is written wholly afterwards.
BATCHES_AFTER = 2
# What our daemon may log of this; each outage must bring the lines it names, once each.
SILENT, SILENT_OVER = ": does not answer", ": answers again"
DOWN, DOWN_OVER = ": down: ", ": up again after "
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Relay:
    """A network between daemon and upstream that can fail: for Bench.front() it is the
    upstream. Open, it passes bytes on. Held, it takes them and keeps them, as a server
    does that hangs. Cut, its connections have been reset and new ones are refused."""

    def __init__(self, upstream):
        # Small enough for a batch to need several WRITEs, and with them a COMMIT.
        self.mount_options = f"{upstream.mount_options},wsize=262144"
        self.mode, self.ended = "open", False
        self.listeners = {}  # socket: the upstream's port behind it
        self.links = {}  # each socket of a connection: the other one
        self.kept = {}  # socket: bytes that it has yet to send
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.wake, self.woken = socket.socketpair()
        self.done = threading.Semaphore(0)
        self.port = self._bind(upstream.port, 0)
        self.mount_port = self._bind(upstream.mount_port, 0)

    def _bind(self, target, port):
        """Bound is not yet listening: a port that refuses, and that nobody can take."""
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", port))
        self.listeners[sock] = target
        return sock.getsockname()[1]

    def start(self):
        for sock in self.listeners:
            sock.listen(64)
        self.thread.start()

    def change(self, mode):
        """Returns once it is so."""
        self.wake.send(mode.encode() + b"\n")
        if not self.done.acquire(timeout=30):
            raise CheckError("the relay does not change its mode")

    def kept_bytes(self):
        return sum(len(data) for data in list(self.kept.values()))

    def stop(self):
        if self.thread.is_alive():
            self.change("end")
            self.thread.join(30)

    def evidence(self):
        return f"relay: {self.mode}, {len(self.links) // 2} connections\n"

    def _run(self):
        while self.mode != "end":
            receivers = [*self.links, self.woken]
            if self.mode != "cut":
                receivers += self.listeners
            senders = [sock for sock, data in self.kept.items() if data]
            if self.mode == "held":
                senders = []
            can_receive, can_send, _ = select.select(receivers, senders, [])
            if self.woken in can_receive:
                self._mode_set(self.woken.recv(64).decode().strip())
                continue
            for sock in can_receive:
                if sock in self.listeners:
                    self._accept(sock)
                elif sock in self.links:
                    self._receive(sock)
            for sock in can_send:
                if sock in self.links:
                    self._send(sock)

    def _mode_set(self, mode):
        if mode in ("cut", "end"):
            for sock in list(self.links):
                self._close(sock)
            for sock, target in list(self.listeners.items()):
                port = sock.getsockname()[1]
                sock.close()
                del self.listeners[sock]
                if mode == "cut":
                    self._bind(target, port)
        elif self.mode == "cut":
            for sock in self.listeners:
                sock.listen(64)
        self.mode = mode
        self.done.release()

    def _accept(self, listener):
        near, _ = listener.accept()
        far = socket.create_connection(("127.0.0.1", self.listeners[listener]), 10)
        for sock, other in ((near, far), (far, near)):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            sock.setblocking(False)
            self.links[sock], self.kept[sock] = other, bytearray()

    def _receive(self, sock):
        try:
            data = sock.recv(1 << 20)
        except OSError:
            data = b""
        if data:
            self.kept[self.links[sock]] += data
        else:
            self._close(sock)

    def _send(self, sock):
        try:
            del self.kept[sock][: sock.send(self.kept[sock])]
        except BlockingIOError:
            pass
        except OSError:
            self._close(sock)

    def _close(self, sock):
        """Both sides are reset; what was kept is lost, as in a network."""
        if sock in self.links:
            for end in (self.links[sock], sock):
                del self.links[end], self.kept[end]
                end.close()


class Watch:
    """The lines our daemon logs about the upstream from now on."""

    def __init__(self, front):
        self.log = getattr(front, "log", None)
        self.skip = len(self._text())

    def _text(self):
        return self.log.read_text(errors="replace") if self.log else ""

    def check(self, due):
        """Exactly these lines, in this order."""
        if self.log is None:
            return "direct"
        text = self._text()[self.skip :]
        kinds = (SILENT, SILENT_OVER, DOWN, DOWN_OVER)
        seen = [kind for line in text.splitlines() for kind in kinds if kind in line]
        if seen != list(due):
            raise CheckError(f"the log says {seen}, not {list(due)}", text)
        return "logged once: " + ", ".join(kind.strip(" :") for kind in seen)


def _check_promised(bench, upstream, writer):
    """What has been promised so far is at the upstream, while it cannot be reached."""
    writer.drain()
    directory = upstream.directory / "records"
    records.check_on_host(bench, directory, dict(writer.promised))


def _under_way(relay):
    if not relay.kept_bytes():
        raise CheckError("no call was under way when the upstream went away")


def _silence(bench, upstream, relay, front, writer, seconds):
    """The upstream takes calls and does not answer; then it answers them all."""
    watch = Watch(front)
    with bench.step(f"silent for {seconds} s"):
        writer.advance(1, 60)
        relay.change("held")
        time.sleep(seconds)
        _under_way(relay)
        _check_promised(bench, upstream, writer)
        relay.change("open")
    with bench.step("fsync after the silence") as result:
        writer.advance(BATCHES_AFTER, BACK_SECONDS)
        result[0] = "ok, " + watch.check((SILENT, SILENT_OVER))


def _cut(bench, upstream, relay, front, writer, seconds):
    """A third of the time silent, then connections are reset and refused."""
    watch = Watch(front)
    with bench.step(f"cut off for {seconds} s"):
        writer.advance(1, 60)
        relay.change("held")
        time.sleep(seconds / 3)
        _under_way(relay)
        relay.change("cut")
        time.sleep(seconds - seconds / 3)
        _check_promised(bench, upstream, writer)
        relay.change("open")
    with bench.step("fsync after the cut") as result:
        writer.advance(BATCHES_AFTER, BACK_SECONDS)
        result[0] = "ok, " + watch.check((DOWN, DOWN_OVER))


def run(bench):
    away = AWAY_QUICK if bench.quick else AWAY_FULL
    upstream = bench.ganesha()
    relay = bench.start(Relay(upstream))
    front = bench.front(relay)
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front)
        writer = records.Writer(guest, directory)
        writer.advance(1, 60)
    if not bench.quick:
        _silence(bench, upstream, relay, front, writer, away)
    _cut(bench, upstream, relay, front, writer, away)
    with bench.step("the writers end well"):
        # An error at the client would end a writer with a message.
        writer.finish()
        counts = bench.mount_counts(guest)
        if not counts["COMMIT"]:
            raise CheckError("the client never sent a COMMIT")
    with bench.step("check at the upstream") as result:
        records.check_on_host(bench, upstream.directory / "records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("check by the client"):
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)
    bench.note(
        f"client calls before the check: {counts['WRITE']} WRITE,"
        f" {counts['COMMIT']} COMMIT"
    )
