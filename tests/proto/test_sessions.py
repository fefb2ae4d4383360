"""Client connections that stall, drip, flood or vanish (P8, P9), and kill -9 (P10)."""

import contextlib
import ctypes
import errno
import os
import random
import re
import socket
import struct

import pytest
from harness import Proxy, free_port, make_file, pattern, upstream_conf, wait_until
from nfs3_client import FILE_SYNC, UNSTABLE, Cred, call_bytes, record
from nfs3_xdr import ARGS, NFS
from proto import count_of, machine, mounted, upstream_counters

MIB = 1 << 20


@pytest.fixture
def small(faultd):
    """The daemon with the least memory that it takes."""
    port = free_port()
    conf = "[nfsgather]\nmemory = 64M\n" + upstream_conf("default", faultd, port)
    with Proxy(conf=conf, port=port) as daemon:
        yield daemon


def buffers(proxy):
    return proxy.counters()["memory"]["buffers_bytes"]


def write_call(c, fh, data, xid=1):
    args = ARGS["write"](fh, 0, data, FILE_SYNC)
    return record(call_bytes(NFS, 3, 7, args, c.cred, xid))


# ---------------------------------------------------------------- P8: bounded


def test_p8_client_that_never_reads_replies(faultd, proxy, c):
    """What it may leave unread is bounded; all comes when it reads at last."""
    fh = make_file(c)
    data = pattern(MIB)
    c.write(fh, 0, data).ok()
    with mounted(proxy, cred=machine("lazy")) as lazy:
        xids = [lazy.start("read", fh, 0, MIB) for _ in range(60)]
        faultd.cmd("wait calls READ 12")
        for _ in range(200):
            c.getattr(fh).ok()
        assert c.read(fh, 0, MIB).ok().data == data
        # 16 MiB of replies, 4 MiB of them in the kernel's hands, and ours
        assert count_of(faultd, "READ") < 40
        assert buffers(proxy) < 24 * MIB
        for xid in xids:
            assert lazy.finish(xid).ok().count == MIB
    wait_until(lambda: buffers(proxy) < 4 * MIB, what="buffers given back")


def test_p8_many_clients_that_never_read(faultd, small):
    """Together they want more than there is; small calls of others go on."""
    with mounted(small) as c, contextlib.ExitStack() as stack:
        fh = make_file(c)
        c.write(fh, 0, pattern(MIB)).ok()
        lazy = [stack.enter_context(small.client(cred=machine(f"lazy{i}")))
                for i in range(8)]  # fmt: skip
        for client in lazy:
            for _ in range(30):
                client.start("read", fh, 0, MIB)
        faultd.cmd("wait calls READ 20")
        for _ in range(100):
            c.getattr(fh).ok()
            c.write(fh, 0, b"small", FILE_SYNC).ok()
        assert buffers(small) < 72 * MIB
    # and when they have gone, all is there again
    with mounted(small) as c:
        assert c.read(fh, 0, MIB).ok().count == MIB
    wait_until(lambda: buffers(small) < 4 * MIB, what="buffers given back")


def test_p8_records_that_stop_in_the_middle(faultd, small):
    """They hold memory, but not that of small calls."""
    with mounted(small) as c, contextlib.ExitStack() as stack:
        fh = make_file(c)
        for i in range(40):
            half = stack.enter_context(small.client(cred=machine(f"half{i}")))
            half.send_raw(write_call(half, fh, bytes(MIB))[:5000])
        for _ in range(100):
            c.getattr(fh).ok()
            c.write(fh, 0, b"small", FILE_SYNC).ok()
        assert buffers(small) < 72 * MIB
    with mounted(small) as c:
        assert c.write(fh, 0, pattern(MIB), FILE_SYNC).ok().count == MIB
    assert faultd.dump("f") == pattern(MIB)


def test_p8_records_announced_and_not_begun(faultd, small):
    """Only a first fragment's header: the largest record must be reckoned with."""
    with mounted(small) as c, contextlib.ExitStack() as stack:
        fh = make_file(c)
        for i in range(40):
            half = stack.enter_context(small.client(cred=machine(f"half{i}")))
            half.send_raw(struct.pack(">I", 1000))
        for _ in range(100):
            c.getattr(fh).ok()
        assert buffers(small) < 72 * MIB


@pytest.mark.slow
def test_p8_stalled_records_are_given_up_when_others_wait(faultd, small):
    with mounted(small) as c, contextlib.ExitStack() as stack:
        fh = make_file(c)
        for i in range(40):
            half = stack.enter_context(small.client(cred=machine(f"half{i}")))
            half.send_raw(write_call(half, fh, bytes(MIB))[:5000])
        c.null()
        assert c.call("write", fh, 0, pattern(MIB), FILE_SYNC, timeout=60).ok()
        assert small.wait_log("record not completed in time").startswith("warn")


@pytest.mark.slow
def test_p8_unread_replies_are_given_up_when_others_wait(faultd, small):
    with mounted(small) as c, contextlib.ExitStack() as stack:
        fh = make_file(c)
        c.write(fh, 0, pattern(MIB)).ok()
        for i in range(8):
            lazy = stack.enter_context(small.client(cred=machine(f"lazy{i}")))
            for _ in range(30):
                lazy.start("read", fh, 0, MIB)
        faultd.cmd("wait calls READ 20")
        c.null()
        assert c.call("write", fh, 0, pattern(MIB), FILE_SYNC, timeout=60).ok()


# ---------------------------------------------------------------- slow and odd senders


def test_one_byte_segments(faultd, proxy, c):
    fh = make_file(c)
    data = pattern(300)
    with proxy.client() as slow:
        for i, byte in enumerate(write_call(slow, fh, data)):
            slow.send_raw(bytes([byte]))
            if i % 100 == 50:
                c.null()
        xid, d = 1, slow.wait(1)
        assert xid and d.u32() == 0
    assert faultd.dump("f") == data


def test_reads_of_one_byte(faultd, proxy, c):
    """A receive window that opens a little at a time."""
    fh = make_file(c, data=pattern(50000))
    with proxy.client() as slow:
        slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        xid = slow.start("read", fh, 0, 50000)
        while len(slow.buffer) < 300:
            slow.buffer += slow.sock.recv(1)
        assert slow.finish(xid).ok().data == pattern(50000)


def test_two_thousand_calls_pipelined(faultd, proxy, c):
    fh = make_file(c)
    before = count_of(faultd, "GETATTR")
    xids = [c.start("getattr", fh) for _ in range(2000)]
    for xid in xids:
        c.finish(xid).ok()
    assert count_of(faultd, "GETATTR") == before + 2000
    assert sorted(c.order[-2000:]) == sorted(xids)


def test_two_thousand_writes_pipelined_while_held(faultd, proxy, c):
    """More than a session may have in progress: nothing is lost. Those that came when
    one had succeeded are gathered."""
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = [c.start("write", fh, i * 4, b"%04d" % i) for i in range(2000)]
    faultd.cmd("wait WRITE 10")
    faultd.cmd("release WRITE")
    for xid in xids:
        c.finish(xid).ok()
    c.commit(fh).ok()
    assert count_of(faultd, "WRITE") < 1500
    want = b"".join(b"%04d" % i for i in range(2000))
    assert faultd.dump("f", visible=True) == want


def test_p9_client_that_floods_does_not_hold_up_another(faultd, proxy, c):
    fh = make_file(c)
    with proxy.client(cred=machine("flood")) as flood:
        flood.sock.setblocking(False)
        call = write_call(flood, fh, bytes(65536), xid=7)
        sent = 0
        for _ in range(50):
            with contextlib.suppress(BlockingIOError):
                while sent < 64 * MIB:
                    sent += flood.sock.send(call[sent % len(call) :])
            c.getattr(fh).ok()
    c.getattr(fh).ok()


def test_connections_that_come_and_go(faultd, proxy, c):
    """Each leaves its calls behind in another state."""
    rng = random.Random(1)
    fh = make_file(c)
    for i in range(150):
        with proxy.client(cred=machine(f"m{i % 5}")) as other:
            call = write_call(other, fh, pattern(rng.randrange(1, 70000)), xid=i)
            other.send_raw(call[: rng.randrange(len(call) + 1)])
            if i % 3 == 0:
                other.reset()
    c.write(fh, 0, b"at last", FILE_SYNC).ok()
    wait_until(lambda: buffers(proxy) < 4 * MIB, what="buffers given back")
    counters = upstream_counters(proxy)
    assert counters["sessions_accepted"] == 151
    assert counters["records_malformed"] == 0


def test_five_hundred_sessions(faultd, proxy):
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(proxy.client(cred=Cred(machine=b"m%d" % i)))
            for i in range(500)
        ]
        root = clients[0].mnt("/exp").ok().fh
        xids = [client.start("getattr", root) for client in clients]
        for client, xid in zip(clients, xids, strict=True):
            client.finish(xid).ok()


# ---------------------------------------------------------------- socket options


PIDFD_GETFD = 438  # on every architecture


def socket_of(proxy, address):
    """A copy of the daemon's socket whose other end has this address."""
    pid = proxy.process.pid
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            fd = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if fd < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EPERM):
                pytest.skip("the kernel lets nobody look into another process")
            try:
                s = socket.socket(fileno=fd)
            except OSError:  # no socket
                if fd >= 0:
                    os.close(fd)
                continue
            with contextlib.suppress(OSError):  # one that listens
                if s.getpeername()[:2] == address:
                    return s
            s.close()
    finally:
        os.close(pidfd)
    raise AssertionError(f"no socket to {address}")


def test_small_replies_do_not_wait_for_more(proxy, c):
    """No Nagle, or each small reply waits for the client's delayed acknowledgement."""
    c.null()
    with socket_of(proxy, c.sock.getsockname()[:2]) as s:
        assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert s.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1


# ---------------------------------------------------------------- memory


def resident_kib(proxy):
    with open(f"/proc/{proxy.process.pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_calls_made(faultd, proxy, c):
    """Files are made, written, renamed, removed; the second half needs no more."""
    with open(f"/proc/{proxy.process.pid}/maps") as f:
        if "libasan" in f.read():
            pytest.skip("the sanitizer keeps what was freed")

    def turn(i):
        xids = []
        for k in range(10):
            fh = make_file(c, f"f{k}", b"some bytes", UNSTABLE)
            xids += [
                c.start("commit", fh),
                c.start("rename", c.root, f"f{k}", c.root, f"g{k}"),
                c.start("lookup", c.root, f"none{i}"),
                c.start("readdirplus", c.root),
            ]
        for xid in xids:
            c.finish(xid)
        for k in range(10):
            c.remove(c.root, f"g{k}").ok()

    for i in range(800):
        turn(i)
    before = resident_kib(proxy)
    for i in range(800):
        turn(i)
    assert resident_kib(proxy) - before < 1024


# ---------------------------------------------------------------- P10: kill -9


class Survivor:
    """A client that connects again, sends again what was not answered, and writes again
    what a COMMIT did not prove."""

    def __init__(self, proxy, fh):
        self.proxy, self.fh = proxy, fh
        self.c = proxy.client()
        self.want = bytearray()
        self.pending = []  # (offset, data, verifier)

    def reconnect(self):
        self.c.close()
        self.c = self.proxy.client()

    def take(self, offset, data):
        self.want += bytes(max(0, offset - len(self.want)))
        self.want[offset : offset + len(data)] = data

    def run(self, calls, crash=None):
        """Sends all, then crash(), then again, in order, all that was not answered."""
        xids = [(call, self.c.start(*call)) for call in calls]
        if crash:
            crash()
            self.reconnect()
            for call, xid in xids:
                self.c.start(*call, xid=xid)
        return [self.c.finish(xid).ok() for _, xid in xids]

    def write(self, pieces, crash=None):
        for offset, data in pieces:
            self.take(offset, data)
        results = self.run([("write", self.fh, o, d) for o, d in pieces], crash)
        self.pending += [
            (o, d, r.verf) for (o, d), r in zip(pieces, results, strict=True)
        ]

    def fsync(self, crash=None):
        while True:
            verf = self.run([("commit", self.fh)], crash)[0].verf
            crash = None
            again = [(o, d) for o, d, v in self.pending if v != verf]
            self.pending = []
            if not again:
                return
            self.write(again)


@pytest.mark.parametrize("seed", range(3))
def test_p10_kill_and_restart_under_load(faultd, proxy, seed):
    """Handles stay valid; after each fsync() all is stable, with the upstream rebooting
    now and then as well."""
    rng = random.Random(seed)

    def crash():
        proxy.kill()
        if rng.random() < 0.5:
            faultd.cmd(f"reboot some {rng.randrange(1000)}")
        proxy.start()

    with mounted(proxy) as c:
        fh = make_file(c)
    survivor = Survivor(proxy, fh)
    for turn in range(8):
        pieces = []
        for _ in range(rng.randrange(1, 10)):
            n = rng.randrange(1, 9000)
            # one after the other: what a kill leaves at the upstream may run late
            pieces.append((len(pieces) * 9000, rng.randbytes(n)))
        survivor.write(pieces, crash if rng.random() < 0.7 else None)
        survivor.fsync(crash if rng.random() < 0.5 else None)
        assert faultd.dump("f") == bytes(survivor.want), f"seed {seed} turn {turn}"
    survivor.c.close()


def test_p10_stable_write_outlives_the_proxy(faultd, proxy):
    with mounted(proxy) as c:
        fh = make_file(c, data=b"stable")
    proxy.kill()
    faultd.cmd("reboot")
    assert faultd.dump("f") == b"stable"
    proxy.start()
    with proxy.client() as c:
        assert c.read_file(fh) == b"stable"
