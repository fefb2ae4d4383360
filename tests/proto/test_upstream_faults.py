"""An upstream that is down, restarts, cuts, spoils, keeps silent: clients only wait.

P9: and those of others do not even that.
"""

import contextlib
import selectors
import socket
import threading
import time

import pytest
from harness import (
    EXPORT, FaultServer, Proxy, free_port, make_file, pattern, upstream_conf,
)  # fmt: skip
from nfs3_client import FILE_SYNC, UNSTABLE, RpcError
from proto import count_of, mounted, upstream_counters

ATTR = 84  # fattr3
HEADER = 28  # record mark and RPC header


class NoServer:
    """What Proxy needs to know of an upstream that is not there yet."""

    export = EXPORT

    def __init__(self):
        self.port = free_port()


class Listener:
    """Accepts, and closes at once, or only its side of it ("half"), or holds; counts. A
    context manager."""

    export = EXPORT

    def __init__(self, close):
        self.close = close
        self.accepted = []
        self.count = 0
        self.several = threading.Event()

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
        for s in (*self.accepted, self.listener, self.wake):
            s.close()

    def _run(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(self.wake, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self.wake in ready:
                    return
                s, _ = self.listener.accept()
                self.count += 1
                if self.close == "half":
                    s.shutdown(socket.SHUT_WR)
                if self.close is True:
                    s.close()
                else:
                    self.accepted.append(s)
                if self.count >= 4:
                    self.several.set()


# ---------------------------------------------------------------- down


def test_upstream_down_at_start():
    """READY all the same; calls are held and answered when it comes."""
    missing = NoServer()
    with Proxy(missing) as proxy, proxy.client() as c:
        proxy.wait_log("upstream default: down")
        mnt = c.start("mnt", EXPORT)
        c.null()  # answered here
        assert mnt not in c.arrived
        with FaultServer(port=missing.port):
            root = c.finish(mnt).ok().fh
            c.getattr(root).ok()
            assert proxy.wait_log("upstream default: up")
        lines = [x for x in proxy.log().splitlines() if "down" in x]
        assert len(lines) <= 2  # at the start, and when this one was stopped


def test_many_calls_wait_for_an_upstream_that_is_down(faultd, proxy, c):
    """More than one session may have in progress: then it is not read for a while."""
    fh = make_file(c, data=b"data")
    faultd.cmd("refuse")
    faultd.cmd("close all")
    xids = [c.start("getattr", fh) for _ in range(1500)]
    proxy.wait_log("down")
    faultd.cmd("listen")
    for xid in xids:
        assert c.finish(xid).ok().attr.size == 4
    assert count_of(faultd, "GETATTR") == 1500


@pytest.mark.parametrize("how", ["", "quiet", "flush"])
def test_reboot_while_calls_of_all_kinds_are_in_flight(faultd, proxy, c, how):
    fh = make_file(c, data=pattern(1000))
    faultd.cmd("hold any")
    xids = [
        c.start(*args)
        for i in range(10)
        for args in (
            ("getattr", fh), ("lookup", c.root, "f"), ("read", fh, 0, 1000),
            ("write", fh, i * 10, b"ten bytes!"), ("commit", fh), ("fsstat", c.root),
            ("mkdir", c.root, f"d{i}"), ("readdir", c.root), ("getacl", fh),
            ("export",),
        )
    ]  # fmt: skip
    faultd.cmd("wait any 30")
    faultd.cmd(f"reboot {how}")
    faultd.cmd("release any")
    for xid in xids:
        c.finish(xid).ok()
    assert faultd.dump("f", visible=True)[:100] == b"ten bytes!" * 10


def test_replies_in_any_order(faultd, proxy, c):
    files = [make_file(c, f"f{i}", b"%04d" % i) for i in range(12)]
    faultd.cmd("reorder 6")
    xids = [c.start("getattr", fh) for fh in files]
    ids = [c.finish(xid).ok().attr.fileid for xid in xids]
    xids = [c.start("lookup", c.root, f"f{i}") for i in range(12)]
    assert [c.finish(xid).ok().attr.fileid for xid in xids] == ids
    faultd.cmd("reorder 0")


# ---------------------------------------------------------------- cut


def test_cut_at_every_byte_of_a_write_reply():
    """All finish, with the right bytes; none is sent more often than it was cut."""
    with FaultServer() as faultd:
        port = free_port()
        conf = upstream_conf("a", faultd, port, connections=16)
        with Proxy(conf=conf, port=port) as proxy, mounted(proxy) as c:
            size = HEADER + 4 + 4 + 24 + 4 + ATTR + 4 + 4 + 8
            files = [make_file(c, f"f{n}") for n in range(size + 2)]
            for n in range(len(files)):
                faultd.cmd(f"cut WRITE {n} file=/exp/f{n}")
            xids = [
                c.start("write", fh, n, b"data%d" % n, FILE_SYNC)
                for n, fh in enumerate(files)
            ]
            for xid in xids:
                assert c.finish(xid).ok().committed == FILE_SYNC
            for n in range(len(files)):
                assert faultd.dump(f"f{n}") == bytes(n) + b"data%d" % n
            sent = count_of(faultd, "WRITE")
            resent = upstream_counters(proxy, "a")["upstream_resends"]
            assert sent >= len(files) + size
            assert sent <= len(files) + resent


def test_cut_at_every_byte_of_a_getattr_reply(faultd):
    """Small calls share one connection, so several proxies go about it together."""
    size = HEADER + 4 + ATTR
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(6):
            proxy = stack.enter_context(Proxy(faultd))
            clients.append(stack.enter_context(mounted(proxy)))
        files = [make_file(clients[0], f"f{n}") for n in range(size + 2)]
        for n in range(len(files)):
            faultd.cmd(f"cut GETATTR {n} file=/exp/f{n}")
        xids = [clients[n % 6].start("getattr", fh) for n, fh in enumerate(files)]
        attrs = [clients[n % 6].finish(xid).ok().attr for n, xid in enumerate(xids)]
    assert [a.fileid for a in attrs] == sorted(a.fileid for a in attrs)
    assert {(a.mode, a.size, a.nlink) for a in attrs} == {(0o666, 0, 1)}


# ---------------------------------------------------------------- garbage


SPOILED = ["GETATTR", "WRITE", "COMMIT", "READDIR", "MNT"]


def start_spoiled(faultd, c, kind, name):
    """A call whose reply comes as garbage; (xid, handle of its file)."""
    fh, unknown = make_file(c, data=b"data"), make_file(c, "unknown")
    faultd.cmd("stats reset")
    faultd.cmd(f"garbage {name} {kind}")
    args = {
        "WRITE": (fh, 0, b"DATA", FILE_SYNC), "COMMIT": (unknown,),
        "READDIR": (c.root,), "MNT": (EXPORT,),
    }  # fmt: skip
    return c.start(name.lower(), *args.get(name, (fh,))), fh


@pytest.mark.parametrize("name", SPOILED)
def test_unusable_reply_is_no_reply(faultd, proxy, c, name):
    """Noticed as such, the call is sent again and the client sees nothing of it."""
    xid, fh = start_spoiled(faultd, c, "short", name)
    c.finish(xid).ok()
    assert count_of(faultd, name) == 2
    assert c.read_file(fh)[1:] in (b"ata", b"ATA")


@pytest.mark.parametrize("kind", ["record", "xid"])
@pytest.mark.parametrize("name", SPOILED)
def test_reply_to_no_call_harms_no_other(faultd, proxy, c, kind, name):
    """All on its connection goes on; what it was for waits for the next connection."""
    xid, fh = start_spoiled(faultd, c, kind, name)
    faultd.cmd(f"wait calls {name} 1")
    other = c.lookup(c.root, "f").ok().fh
    for _ in range(20):
        c.write(other, 100, b"more", FILE_SYNC).ok()
        c.getattr(c.root).ok()
        c.mnt(EXPORT).ok()
    faultd.cmd("close all")
    c.finish(xid).ok()
    assert c.read_file(fh)[1:4] in (b"ata", b"ATA")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["record", "xid"])
def test_call_whose_reply_went_astray_is_sent_again(faultd, proxy, c, kind):
    """After two minutes, on a new connection."""
    accepted = faultd.stats()["accepted"]
    xid, _ = start_spoiled(faultd, c, kind, "GETATTR")
    c.finish(xid, timeout=160).ok()
    assert count_of(faultd, "GETATTR") == 2
    assert faultd.stats()["accepted"] == accepted + 1
    assert proxy.wait_log("a call without its reply").startswith("warn")


@pytest.mark.slow
def test_garbage_record_mark(faultd, proxy, c):
    """Too long in nearly all cases; else the rest of that record never comes."""
    xid, _ = start_spoiled(faultd, c, "mark", "GETATTR")
    c.finish(xid, timeout=160).ok()


def test_garbage_without_end_fails_the_call_and_no_other(faultd, proxy, c):
    bad, good = make_file(c, "bad"), make_file(c, "good")
    faultd.cmd("garbage GETATTR short 1000 file=/exp/bad")
    xids = [c.start("getattr", good) for _ in range(5)]
    spoiled = c.start("getattr", bad)
    xids += [c.start("getattr", good) for _ in range(5)]
    for xid in xids:
        c.finish(xid).ok()
    with pytest.raises(RpcError, match="system_err"):
        c.finish(spoiled)
    faultd.cmd("clear")
    c.getattr(bad).ok()
    assert proxy.wait_log("unusable reply").startswith("warn")


def test_random_results_harm_nobody(faultd, proxy, c):
    """They may even decode, to nonsense; the next answers are right."""
    fh = make_file(c, data=b"data")
    names = "getattr lookup access read write commit readdir readdirplus fsinfo".split()
    for _ in range(2):
        for name in names:
            args = {
                "lookup": (c.root, "f"), "read": (fh, 0, 4), "write": (fh, 0, b"data"),
                "readdir": (c.root,), "readdirplus": (c.root,), "fsinfo": (c.root,),
            }.get(name, (fh,))  # fmt: skip
            faultd.cmd(f"garbage {name} body")
            xid = c.start(name, *args)
            try:
                c.wait(xid)
            except RpcError:
                pass
            c.pending.pop(xid, None)
    faultd.cmd("clear")
    assert c.read_file(fh) == b"data"


ERRORS = ["NOSPC", "DQUOT", "FBIG", "ROFS", "IO", "STALE"]


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
@pytest.mark.parametrize("error", ERRORS)
def test_errors_of_writes_are_told_as_they_are(faultd, proxy, c, error, stable):
    """By the WRITE, or by a COMMIT after it; not by OK."""
    fh = make_file(c)
    for i in range(3):
        c.write(fh, i * 10, b"ten bytes!", stable).ok()
    c.commit(fh).ok()
    faultd.cmd(f"error WRITE {error}")
    told = [c.write(fh, 30 + i * 10, b"ten bytes!", stable).name for i in range(3)]
    told.append(c.commit(fh).name)
    assert set(told) <= {"OK", error} and error in told
    if stable == FILE_SYNC:
        assert told[:3] == [error] * 3
    faultd.cmd("clear")
    assert faultd.dump("f") == b"ten bytes!" * 3
    c.write(fh, 30, b"ten bytes!").ok()
    c.commit(fh).ok()
    assert faultd.dump("f") == b"ten bytes!" * 4


def test_full_upstream_is_noticed_before_a_commit_says_ok(faultd, proxy, c):
    """Many times of what it has room for are written; no more than that is promised."""
    fh = make_file(c)
    data = pattern(1 << 15)
    faultd.cmd(f"space {1 << 18}")
    told = [c.write(fh, i << 15, data).name for i in range(64)]
    told.append(c.commit(fh).name)
    assert set(told) == {"OK", "NOSPC"}
    assert len(faultd.dump("f")) <= 1 << 18
    faultd.cmd("space off")
    for i in range(64):
        c.write(fh, i << 15, data).ok()
    c.commit(fh).ok()
    assert faultd.dump("f") == data * 64


# ---------------------------------------------------------------- silent


@pytest.fixture
def pair():
    """(faultd, other, c, d): two upstreams of one proxy and a client of each."""
    with FaultServer() as faultd, FaultServer() as other:
        ports = free_port(20000, 26000), free_port(26000, 32000)
        conf = upstream_conf("one", faultd, ports[0])
        conf += upstream_conf("two", other, ports[1])
        with Proxy(conf=conf, port=ports[0]) as proxy:
            second = Proxy(conf="", port=ports[1])  # only for its client()
            try:
                with mounted(proxy) as c, mounted(second) as d:
                    yield faultd, other, c, d
            finally:
                second.close()


@pytest.mark.parametrize("how", ["mute on", "deaf on"])
def test_p9_silent_upstream_does_not_hold_up_another(pair, how):
    faultd, other, c, d = pair
    fh = make_file(d, "there", b"data")
    mine = make_file(c, "here")
    faultd.cmd(how)
    xids = [c.start("write", mine, i << 20, bytes(1 << 20)) for i in range(20)]
    xids += [c.start("getattr", mine) for _ in range(100)]
    for i in range(100):
        d.write(fh, i * 1000, pattern(1000), UNSTABLE).ok()
        d.getattr(fh).ok()
    d.commit(fh).ok()
    assert not c.arrived
    faultd.cmd(how.replace("on", "off"))
    faultd.cmd("close all")  # what it took while it was mute is lost
    for xid in xids:
        c.finish(xid).ok()


def test_p9_dead_upstream_does_not_hold_up_another(pair):
    faultd, other, c, d = pair
    faultd.cmd("refuse")
    faultd.cmd("close all")
    xid = c.start("getattr", c.root)
    for _ in range(50):
        d.getattr(d.root).ok()
    assert not c.arrived
    faultd.cmd("listen")
    c.finish(xid).ok()


def test_p9_slow_file_does_not_hold_up_others(faultd, proxy, c):
    slow = make_file(c, "slow")
    files = [make_file(c, f"f{i}") for i in range(10)]
    faultd.cmd("hold WRITE,COMMIT file=/exp/slow")
    xids = [c.start("write", slow, i * 10, b"ten bytes!") for i in range(20)]
    xids += [c.start("commit", slow) for _ in range(5)]
    faultd.cmd("wait WRITE 20")
    for fh in files:
        verf = c.write(fh, 0, b"data").ok().verf
        assert c.commit(fh).ok().verf == verf
        assert c.read_file(fh) == b"data"
    c.getattr(slow).ok()
    faultd.cmd("release WRITE,COMMIT")
    for xid in xids:
        c.finish(xid).ok()


# ---------------------------------------------------------------- reconnecting


@pytest.mark.parametrize("close", [True, "half"])
def test_reconnect_does_not_spin(close):
    """An upstream that accepts and closes: the pauses grow to seconds."""
    with Listener(close) as listener, Proxy(listener) as proxy:
        with proxy.client() as c:
            c.start("mnt", EXPORT)
            c.start("fsinfo", b"h" * 32)
            time.sleep(2)  # the measuring itself
            assert 5 <= listener.count <= 45
            lines = [x for x in proxy.log().splitlines() if "upstream default" in x]
            assert len(lines) <= 12
            c.null()
            if close == "half":  # none is left behind, but those under way
                for s in listener.accepted[:-4]:
                    s.settimeout(10)
                    with contextlib.suppress(ConnectionResetError):
                        while s.recv(65536):
                            pass


def test_call_that_kills_its_connection_does_not_spin(faultd, proxy, c):
    """Connecting works, but every GETATTR costs the connection."""
    faultd.cmd("drop GETATTR before 1000")
    xid = c.start("getattr", c.root)
    before = faultd.stats()["accepted"]
    time.sleep(1.5)  # the measuring itself
    assert faultd.stats()["accepted"] - before <= 15
    faultd.cmd("clear")
    c.finish(xid).ok()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_i12_upstream_connections_end_with_a_reset(end):
    """So that no WRITE that was not sent yet leaves after the process has gone."""
    with Listener(close=False) as listener, Proxy(listener) as proxy:
        assert listener.several.wait(10)
        accepted = list(listener.accepted)
        getattr(proxy, end)()
        for s in accepted:
            s.settimeout(10)
            with pytest.raises(ConnectionResetError):
                while s.recv(65536):
                    pass
        proxy.start()


# ---------------------------------------------------------------- minutes


@pytest.mark.slow
def test_commit_held_for_long_is_not_sent_again(faultd, proxy, c):
    """A late reply alone breaks no connection: NULL is answered meanwhile."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    accepted = faultd.stats()["accepted"]
    faultd.cmd("hold COMMIT")
    xid = c.start("commit", fh)
    faultd.cmd("wait calls NULL 8 timeout=160000", timeout=170)
    c.getattr(fh).ok()
    faultd.cmd("release COMMIT")
    assert c.finish(xid).ok().verf == verf
    assert count_of(faultd, "COMMIT") == 1
    assert faultd.stats()["accepted"] == accepted


@pytest.mark.slow
def test_mute_upstream_is_noticed_and_given_up(faultd, proxy, c):
    accepted = faultd.stats()["accepted"]
    faultd.cmd("mute on")
    xid = c.start("getattr", c.root)
    proxy.wait_log("does not answer", timeout=60)
    assert faultd.stats()["accepted"] == accepted
    faultd.cmd("mute off")  # its connection is as silent as before
    c.finish(xid, timeout=150).ok()
    assert faultd.stats()["accepted"] > accepted
