"""An upstream whose records are cut or spoiled on the way: at every byte of a call, and
where replies say how much follows.
"""

import struct

import pytest
from harness import (
    EXPORT, FaultServer, Proxy, free_port, make_file, pattern, upstream_conf,
)  # fmt: skip
from nfs3_client import FILE_SYNC, NFS, RpcError, record
from nfs3_xdr import PROCS
from proto import mounted, upstream_counters
from tap import Tap


class Meddler(Tap):
    """Passes on what change(call, reply) makes of each record: (bytes, whether the
    connection ends after them). On the way up, reply is None. Records begin with their
    mark."""

    def __init__(self, server, change):
        super().__init__(server)
        self.change = change

    def _move(self, sock, other, conn, upward, kept):
        if sock not in self.open:
            return
        try:
            got = sock.recv(1 << 18)
            kept += got
            end = not got
            while not end and (record := self._take(kept)):
                key = conn, record[4:8]
                if upward:
                    self.calls[key] = record
                    out, end = self.change(record, None)
                else:
                    out, end = self.change(self.calls.pop(key), record)
                other.sendall(out)
        except OSError:
            end = True
        if end:
            for s in (sock, other):
                self.selector.unregister(s)
                self.open.discard(s)
                s.close()

    @staticmethod
    def _take(kept):
        n = 4 + (int.from_bytes(kept[:4], "big") & 0x7FFFFFFF)
        if len(kept) < max(n, 5):
            return None
        record = bytes(kept[:n])
        del kept[:n]
        return record


def procedure_of(call):
    return struct.unpack(">I4xI", call[16:28])


def offset_of(call):
    at = 28
    for _ in range(2):  # credential, verifier
        n = int.from_bytes(call[at + 4 : at + 8], "big")
        at += 8 + n + -n % 4
    n = int.from_bytes(call[at : at + 4], "big")
    at += 4 + n + -n % 4
    return int.from_bytes(call[at : at + 8], "big")


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_at_every_byte_of_a_write_call(step):
    """The upstream gets so many bytes of it and then the end; once for each."""
    cut, sizes, due = set(), set(), range(0, 180, step)

    def change(call, reply):
        if reply is None and procedure_of(call) == (NFS, 7):
            n = offset_of(call)
            if n not in cut:
                cut.add(n)
                sizes.add(len(call))
                return call[:n], True
        return reply or call, False

    with FaultServer() as faultd, Meddler(faultd, change) as meddler:
        port = free_port()
        conf = upstream_conf("a", meddler, port, connections=16)
        with Proxy(conf=conf, port=port) as proxy, mounted(proxy) as c:
            files = [(n, make_file(c, f"f{n}")) for n in due]
            xids = [
                c.start("write", fh, n, b"data%03d" % n, FILE_SYNC) for n, fh in files
            ]
            for xid in xids:
                assert c.finish(xid).ok().committed == FILE_SYNC
            assert cut == set(due) and max(sizes) in range(100, 180)
            for n in due:
                assert faultd.dump(f"f{n}") == bytes(n) + b"data%03d" % n
            assert upstream_counters(proxy, "a")["upstream_reconnects"] >= len(due) / 2
            assert faultd.stats()["violations"] == 0


# ---------------------------------------------------------------- lengths


class Spoiler:
    """Puts results of ours in place of the upstream's while `results` is set."""

    def __init__(self, faultd):
        self.faultd = faultd
        self.results = self.procedure = None

    def change(self, call, reply):
        if reply and self.results and procedure_of(call) == self.procedure:
            reply = record(reply[4:28] + self.results)
        return reply or call, False

    def __enter__(self):
        self.meddler = Meddler(self.faultd, self.change).__enter__()
        self.proxy = Proxy(self.meddler).__enter__()
        self.c = self.proxy.client()
        self.c.root = self.c.mnt(EXPORT).ok().fh
        self.fh = make_file(self.c, data=pattern(100))
        self.link = self.c.symlink(self.c.root, "link", "target").ok().fh
        return self

    def __exit__(self, *error):
        self.c.close()
        try:
            self.proxy.__exit__(*error)
        finally:
            self.meddler.__exit__()

    def call(self, name):
        root = self.c.root
        args = {
            "lookup": (root, "f"), "create": (root, "new"), "readlink": (self.link,),
            "read": (self.fh, 0, 100), "readdir": (root,), "readdirplus": (root,),
            "getacl": (self.fh,), "mnt": (EXPORT,),
        }.get(name, ())  # fmt: skip
        return self.c.call(name, *args)

    def refused(self, name, results):
        """The client gets no such thing; then all works as the upstream does."""
        program, _, number = PROCS[name]
        self.procedure, self.results = (program, number), results
        with pytest.raises(RpcError, match="system_err"):
            self.call(name)
        self.results = None
        self.call(name).ok()
        self.c.getattr(self.fh).ok()


@pytest.fixture
def spoiler(faultd):
    with Spoiler(faultd) as s:
        yield s


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


# Results as far as a length; there are no attributes in them.
ENTRY = words(0, 0) + bytes(8) + words(1, 0, 9)
HEADS = {
    "lookup": words(0),
    "create": words(0, 1),
    "readlink": words(0, 0),
    "read": words(0, 0, 100, 0),
    "readdir": ENTRY,
    "readdirplus": ENTRY,
    "mnt": words(0),
    "export": words(1),
    "dump": words(1),
}


@pytest.mark.parametrize("name", HEADS)
def test_lengths_beyond_the_record(spoiler, name):
    for size in (200000, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1):
        spoiler.refused(name, HEADS[name] + words(size) + bytes(1000))


@pytest.mark.parametrize("name, head, element", [
    ("getacl", words(0, 0, 0xF, 1), words(1, 0, 7)),
    ("mnt", words(0, 32) + bytes(32), words(1)),
], ids=["getacl", "mnt"])  # fmt: skip
def test_numbers_of_elements_beyond_the_record(spoiler, name, head, element):
    """Also such that the size of all in bytes is a small number again."""
    for count in (100000, 2**30 + 1, 2**31, 2**32 // 12 + 1, 2**32 - 1):
        spoiler.refused(name, head + words(count) + element * 50000)


@pytest.mark.parametrize("name", ["lookup", "create", "mnt"])
def test_handles_longer_than_any(spoiler, name):
    for size in (65, 68, 128, 4096):
        data = bytes(size + -size % 4 + 400)  # and what follows it
        spoiler.refused(name, HEADS[name] + words(size) + data)


@pytest.mark.parametrize("name, head, entry", [
    ("export", words(1, 4) + b"/exp", words(1, 1) + b"g\0\0\0"),
    ("export", b"", words(1, 1) + b"/\0\0\0" + words(0)),
    ("dump", b"", words(1, 1) + b"h\0\0\0" + words(1) + b"/\0\0\0"),
    ("readdir", words(0, 0) + bytes(8), words(1, 0, 9, 1) + b"n\0\0\0" + words(0, 1)),
    ("readdirplus", words(0, 0) + bytes(8),
     words(1, 0, 9, 1) + b"n\0\0\0" + words(0, 1, 0, 0)),
], ids=["groups", "export", "dump", "readdir", "readdirplus"])  # fmt: skip
def test_lists_of_a_whole_record(spoiler, name, head, entry):
    """As many entries as one can hold."""
    count = ((1 << 20) - 1000) // len(entry)
    spoiler.refused(name, head + entry * count + words(0, 0, 1))
