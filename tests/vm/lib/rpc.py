"""Two RPCs over TCP, for asking a service on loopback whether it is there and what it
exports, without a portmapper."""
import socket
import struct

PROGRAM_NFS, PROGRAM_MOUNT = 100003, 100005
MOUNT_EXPORT = 5


def _read_exactly(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise ConnectionError("connection closed inside a reply")
        data += more
    return data


def call(port, program, version, procedure, seconds=5):
    """Calls a procedure without arguments; returns the bytes of the result."""
    words = (0x6E667367, 0, 2, program, version, procedure, 0, 0, 0, 0)
    message = struct.pack(">10I", *words)
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as sock:
        sock.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        reply, last = b"", False
        while not last:
            (mark,) = struct.unpack(">I", _read_exactly(sock, 4))
            last = bool(mark & 0x80000000)
            reply += _read_exactly(sock, mark & 0x7FFFFFFF)
    xid, kind, status, _flavor, length = struct.unpack(">5I", reply[:20])
    end = 20 + (length + 3) // 4 * 4
    (accepted,) = struct.unpack(">I", reply[end : end + 4])
    if (xid, kind, status, accepted) != (words[0], 1, 0, 0):
        raise ConnectionError(f"reply says {kind}, {status}, {accepted}")
    return reply[end + 4 :]


def exports(port):
    """Paths that MOUNT's EXPORT procedure lists."""
    data, paths, at = call(port, PROGRAM_MOUNT, 3, MOUNT_EXPORT), [], 0

    def word():
        nonlocal at
        (value,) = struct.unpack_from(">I", data, at)
        at += 4
        return value

    def string():
        nonlocal at
        length = word()
        value = data[at : at + length].decode()
        at += (length + 3) // 4 * 4
        return value

    while word():
        paths.append(string())
        while word():
            string()
    return paths
