"""The fault server's script: every command of README.md does what it says."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import zlib

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import (  # noqa: E402,F401
    FaultServer, HarnessError, direct, faultd, make_file, pattern,
)  # fmt: skip
from nfs3_client import (  # noqa: E402
    DATA_SYNC, FIFO, FILE_SYNC, UNSTABLE, Closed, Cred, ProtocolError, RpcError, Wcc,
    record, sattr,
)  # fmt: skip

ALICE = Cred(uid=1000, gid=1000, machine=b"alice")


@pytest.fixture
def c(direct):  # noqa: F811
    return direct


# ---------------------------------------------------------------- script


def test_hold_and_release_by_number(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = [c.start("write", fh, i, b"%d" % i, FILE_SYNC) for i in range(5)]
    assert faultd.cmd("wait WRITE 5") == "5"
    c.getattr(fh).ok()
    assert faultd.file("f")["size"] == 0
    assert faultd.cmd("release WRITE 2") == "2"
    c.finish(xids[0]).ok(), c.finish(xids[1]).ok()
    assert faultd.cmd("waiting WRITE") == "3"
    assert faultd.dump("f") == b"01"
    assert faultd.cmd("release WRITE") == "3"
    for x in xids[2:]:
        c.finish(x).ok()
    c.write(fh, 0, b"free").ok()


def test_hold_after_execution(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("hold WRITE after")
    x = c.start("write", fh, 0, b"done", FILE_SYNC)
    faultd.cmd("wait WRITE 1")
    assert faultd.dump("f") == b"done"
    old = c.commit(fh).ok().verf
    faultd.cmd("reboot quiet")
    faultd.cmd("release WRITE")
    assert c.finish(x).ok().verf == old  # as it was made
    assert c.commit(fh).ok().verf != old


def test_held_call_outlives_its_connection(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    with faultd.client() as other:
        other.start("write", fh, 0, b"stale", FILE_SYNC)
        faultd.cmd("wait WRITE 1")
    faultd.cmd("wait connections 1")
    faultd.cmd("release WRITE")
    assert faultd.dump("f") == b"stale"


def test_wait_blocks_until_it_is_true(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("hold COMMIT")
    answers = []
    t = threading.Thread(target=lambda: answers.append(faultd.cmd("wait COMMIT 2")))
    t.start()
    xids = [c.start("commit", fh), c.start("commit", fh)]
    t.join(20)
    assert answers == ["2"]
    faultd.cmd("release COMMIT")
    for x in xids:
        c.finish(x).ok()
    with pytest.raises(HarnessError, match="timeout at 0"):
        faultd.cmd("wait COMMIT 1 timeout=50")
    assert int(faultd.cmd("wait calls COMMIT 2")) == 2


def test_errors(faultd, c):  # noqa: F811
    fh = make_file(c, "f", b"data")
    faultd.cmd("error WRITE NOSPC 2")
    assert c.write(fh, 0, b"x").name == "NOSPC"
    r = c.write(fh, 0, b"x", FILE_SYNC)
    assert r.name == "NOSPC" and r.wcc.after.size == 4
    c.write(fh, 0, b"y").ok()
    faultd.cmd("error COMMIT IO 1 skip=1")
    names = [c.commit(fh).name for _ in range(3)]
    assert names == ["OK", "IO", "OK"]
    make_file(c, "g")
    faultd.cmd("error any JUKEBOX file=/exp/g")
    g = c.lookup(c.root, "g").ok().fh
    assert c.read(g, 0, 1).name == c.getattr(g).name == "JUKEBOX"
    c.read(fh, 0, 1).ok()
    faultd.cmd("clear")
    c.getattr(g).ok()
    faultd.cmd("error LOOKUP,GETATTR 5 uid=1000")
    assert c.getattr(fh, cred=ALICE).name == "IO"
    c.getattr(fh).ok()
    faultd.cmd("error COMMIT IO")
    c.write(fh, 0, b"lost").ok()
    assert c.commit(fh).name == "IO"
    assert faultd.dump("f") != b"lost"


def test_failed_delayed_commit_leaves_data_unstable(faultd, c):  # noqa: F811
    fh = make_file(c)
    c.write(fh, 0, b"x" * 100).ok()
    faultd.cmd("delay COMMIT 5")
    faultd.cmd("error COMMIT IO 1")
    assert c.commit(fh).name == "IO"
    assert faultd.file("f")["stable_size"] == 0
    c.commit(fh).ok()
    assert faultd.file("f")["stable_size"] == 100


FALLIBLE = (
    "getattr setattr lookup access readlink read write create mkdir symlink mknod "
    "remove rmdir rename link readdir readdirplus fsstat fsinfo pathconf commit "
    "getacl setacl mnt"
).split()


@pytest.mark.parametrize("proc", FALLIBLE)
def test_every_failure_arm_decodes(faultd, c, proc):  # noqa: F811
    fh = make_file(c)
    args = {
        "lookup": (c.root, "f"), "read": (fh, 0, 1), "write": (fh, 0, b"x"),
        "create": (c.root, "n"), "mkdir": (c.root, "n"), "symlink": (c.root, "n", "t"),
        "mknod": (c.root, "n", FIFO), "remove": (c.root, "f"), "rmdir": (c.root, "f"),
        "rename": (c.root, "f", c.root, "n"), "link": (fh, c.root, "n"),
        "readdir": (c.root,), "readdirplus": (c.root,), "mnt": ("/exp",),
        "setacl": (fh, 3), "setattr": (fh,),
    }.get(proc, (fh,))  # fmt: skip
    faultd.cmd(f"error {proc} SERVERFAULT")
    assert c.call(proc, *args).name == "SERVERFAULT"
    faultd.cmd("noattrs on")
    assert c.call(proc, *args).name == "SERVERFAULT"
    faultd.cmd("clear")
    assert c.call(proc, *args).status == {"rmdir": 20, "readlink": 22}.get(proc, 0)
    assert faultd.stats()["calls"][proc.upper()] >= 3


def test_attributes_can_be_withheld(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("nowcc on")
    w = c.write(fh, 0, b"x").ok().wcc
    assert w.before is None and w.after.size == 1
    faultd.cmd("noattrs on")
    assert c.write(fh, 0, b"x").ok().wcc == Wcc(None, None)
    assert c.lookup(c.root, "f").ok().attr is None
    assert c.readdirplus(c.root).ok().entries[2].attr is None
    assert c.getattr(fh).ok().attr.size == 1
    faultd.cmd("noattrs off")
    faultd.cmd("nowcc off")
    assert c.write(fh, 0, b"x").ok().wcc.before is not None


def test_short_transfers(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("short WRITE 10 1")
    assert c.write(fh, 0, b"z" * 100).ok().count == 10
    assert c.getattr(fh).attr.size == 10
    faultd.cmd("short WRITE 0 1")
    assert c.write(fh, 0, b"z" * 100).ok().count == 0
    c.write(fh, 0, b"z" * 100).ok()
    faultd.cmd("short READ 7 1")
    r = c.read(fh, 0, 100).ok()
    assert (r.count, r.eof) == (7, False)


def test_committed_differs_from_asked(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("downgrade on")
    assert c.write(fh, 0, b"soft", FILE_SYNC).ok().committed == UNSTABLE
    assert faultd.file("f")["stable_size"] == 0
    faultd.cmd("committed file_sync")
    assert c.write(fh, 0, b"hard", UNSTABLE).ok().committed == FILE_SYNC
    assert faultd.dump("f") == b"hard"
    faultd.cmd("committed asked")
    assert c.write(fh, 0, b"x").ok().committed == UNSTABLE


def test_zero_verifier_on_file_sync(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("zeroverf on")
    assert c.write(fh, 0, b"x", FILE_SYNC).ok().verf == bytes(8)
    v = c.write(fh, 0, b"x", UNSTABLE).ok().verf
    assert v != bytes(8) and c.commit(fh).ok().verf == v


def test_cut_at_every_byte(faultd, c):  # noqa: F811
    fh = make_file(c)
    whole = len(record(c_bytes(c, fh)))
    for n in range(whole + 1):
        faultd.cmd(f"cut GETATTR {n}")
        with faultd.client() as k:
            k.start("getattr", fh)
            assert len(k.expect_closed()) == n
    with faultd.client() as k:
        k.getattr(fh).ok()


def c_bytes(c, fh):
    """The whole GETATTR reply without its mark."""
    c.start("getattr", fh)
    return c.recv_record()


def test_drop(faultd, c):  # noqa: F811
    fh = make_file(c)
    for stage, size in (("before", 0), ("after", 4)):
        faultd.cmd(f"drop WRITE {stage}")
        with faultd.client() as k:
            k.start("write", fh, 0, b"data", FILE_SYNC)
            assert k.expect_closed() == b""
        assert faultd.file("f")["stable_size"] == size
    c.write(fh, 0, b"1").ok()


@pytest.mark.parametrize("kind", ["body", "record", "mark", "xid", "short"])
def test_garbage(faultd, c, kind):  # noqa: F811
    fh = make_file(c)
    faultd.cmd(f"garbage GETATTR {kind}")
    with faultd.client(timeout=0.3) as k:
        with pytest.raises((ProtocolError, TimeoutError, RpcError, Closed)):
            k.getattr(fh).ok()
    c.getattr(fh).ok()


def test_stall_and_unstall(faultd, c):  # noqa: F811
    fh = make_file(c)
    with faultd.client() as k:
        k.null()
        number = faultd.conns()[0]["conn"]
        faultd.cmd(f"stall {number}")
        xids = [k.start("getattr", fh) for _ in range(3)]
        faultd.cmd(f"wait stalled {number} 3")
        k.expect_silence(0.05)
        c.getattr(fh).ok()
        faultd.cmd(f"unstall {number}")
        for x in xids:
            k.finish(x).ok()
        assert k.order[-3:] == xids


def test_stalled_replies_arrive_before_the_reboot_closes(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("stall all")
    x = c.start("write", fh, 0, b"gone")
    number = faultd.conns()[0]["conn"]
    faultd.cmd(f"wait stalled {number} 1")
    faultd.cmd("reboot flush")
    old = c.finish(x).ok().verf
    c.expect_closed()
    with faultd.client() as k:
        assert k.commit(fh).ok().verf != old
        assert k.getattr(fh).attr.size == 0


def test_reorder(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("reorder 4")
    xids = [c.start("getattr", fh) for _ in range(4)]
    for x in xids:
        c.finish(x).ok()
    assert c.order[-4:] == xids[::-1]
    x = c.start("getattr", fh)
    faultd.cmd("wait calls GETATTR 5")
    faultd.cmd("reorder 0")
    c.finish(x).ok()


def test_mute_deaf_refuse(faultd, c):  # noqa: F811
    faultd.cmd("mute on")
    with faultd.client() as k:
        k.start("null")
        faultd.cmd("wait calls NULL 1")
        k.expect_silence(0.05)
        faultd.cmd("mute off")
        k.null()
    faultd.cmd("deaf on")
    with faultd.client() as k:
        x = k.start("null")
        k.expect_silence(0.05)
        faultd.cmd("deaf off")
        k.finish(x)
    faultd.cmd("refuse")
    with pytest.raises(ConnectionRefusedError):
        faultd.client()
    c.null()
    faultd.cmd("listen")
    with faultd.client() as k:
        k.null()


def test_close(faultd, c):  # noqa: F811
    faultd.cmd("close all")
    assert c.recv_raw() == b""
    with faultd.client() as k:
        k.null()
        faultd.cmd("close all reset")
        with pytest.raises(Closed):
            k.recv_raw()
    assert faultd.cmd("wait connections 0") == "0"


def timed(run):

    start = time.monotonic()
    run()
    return time.monotonic() - start


def run_commits(c, fh, n):
    for x in [c.start("commit", fh) for _ in range(n)]:
        c.finish(x).ok()


def test_delays(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("delay COMMIT 40 serial")
    assert timed(lambda: run_commits(c, fh, 4)) >= 0.158
    faultd.cmd("clear")
    faultd.cmd("delay COMMIT 40 parallel")
    assert 0.039 <= timed(lambda: run_commits(c, fh, 30)) < 1.0
    faultd.cmd("clear")
    faultd.cmd("commits group")
    faultd.cmd("delay forced 40")
    # the first alone, all others together: their number does not matter
    assert 0.039 <= timed(lambda: run_commits(c, fh, 60)) < 2.0
    assert timed(lambda: c.write(fh, 0, b"x", FILE_SYNC)) >= 0.039
    assert timed(lambda: [c.write(fh, 0, b"x") for _ in range(20)]) < 0.8
    assert timed(lambda: c.getattr(fh)) < 0.04 * 20


def test_delayed_commit_covers_what_it_found(faultd, c):  # noqa: F811
    fh = make_file(c)
    c.write(fh, 0, b"before").ok()
    faultd.cmd("delay COMMIT 50")
    x = c.start("commit", fh)
    faultd.cmd("wait calls COMMIT 1")
    c.write(fh, 0, b"after!").ok()
    c.finish(x).ok()
    assert faultd.dump("f") == b"before"


def test_reboot_forgets_what_waits(faultd, c):  # noqa: F811
    fh = make_file(c)
    for rule in ("hold WRITE", "delay WRITE 60000", "delay WRITE 60000 serial"):
        faultd.cmd(rule)
        with faultd.client() as k:
            before = faultd.stats()
            k.start("write", fh, 0, b"never", FILE_SYNC)
            k.start("write", fh, 0, b"never", FILE_SYNC)
            faultd.cmd(f"wait calls WRITE {before['calls']['WRITE'] + 2}")
            faultd.cmd("reboot")
            k.expect_closed()
        faultd.cmd("clear")
    s = faultd.stats()
    assert (s["held"], s["delayed"], s["reboots"]) == (0, 0, 3)
    assert faultd.file("f")["size"] == 0


def test_calls_and_stats(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("calls clear")
    cred = Cred(uid=12, gid=34, gids=(5, 6), machine=b'quo"te\x01')
    c.write(fh, 4096, b"abc", DATA_SYNC, cred=cred, xid=4242)
    c.remove(c.root, "none", cred=Cred(flavor=0))
    w, r = faultd.calls()
    assert w["proc"] == "WRITE" and w["xid"] == 4242 and w["port"] == c.source_port
    assert (w["uid"], w["gid"], w["gids"]) == (12, 34, [5, 6])
    assert w["machine"] == 'quo"te\x01' and w["flavor"] == 1
    assert (w["offset"], w["count"], w["stable"], w["status"]) == (4096, 3, 1, 0)
    assert w["fileid"] == c.getattr(fh).attr.fileid
    assert (r["proc"], r["status"], r["flavor"], r["uid"]) == ("REMOVE", 2, 0, 65534)
    assert len(faultd.calls("WRITE")) == 1
    s = faultd.stats()
    assert s["write_data_sync"] == 1 and s["forced"] == 1 and s["bytes_written"] == 3
    assert s["write_sizes"] == {"2": 1}
    faultd.cmd("stats reset")
    assert faultd.stats()["calls"]["WRITE"] == 0


def test_ring_is_bounded():
    with FaultServer("--ring", "10") as f, f.client() as c:
        for _ in range(25):
            c.null()
        calls = f.calls()
        assert [x["n"] for x in calls] == list(range(16, 26))
        assert len(f.json("calls NULL 3")) == 3


def test_space(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("space 10000")
    c.write(fh, 0, bytes(10000)).ok()
    assert c.write(fh, 10000, b"x").name == "NOSPC"
    c.write(fh, 0, b"x").ok()
    assert c.fsstat(fh).abytes == 0
    c.remove(c.root, "f").ok()
    assert c.fsstat(c.root).abytes == 10000


def test_clock(faultd, c):  # noqa: F811
    fh = make_file(c)
    a = c.getattr(fh).attr.ctime
    faultd.cmd("clock -100000")
    b = c.write(fh, 0, b"x").wcc.after.ctime
    assert b > a  # never back
    faultd.cmd("clock 100000")
    assert c.write(fh, 0, b"x").wcc.after.ctime[0] >= a[0] + 100


@pytest.mark.parametrize(
    "line",
    [
        "", "nonsense", "hold", "hold NOTHING", "delay WRITE", "delay WRITE x", "wait",
        "error WRITE", "error WRITE WRONG", "error WRITE IO 0", "error WRITE IO 1 2",
        "cut WRITE", "drop WRITE never", "garbage WRITE x", "noattrs", "noattrs maybe",
        "stall 99", "reorder x", "reboot x", "reboot some", "file", "file /exp/none",
        "file /else", "verifier 0", "wait WRITE", "wait calls WRITE", "calls NOPE",
        "short WRITE -1", "error WRITE IO nope=1", "error WRITE IO file=/exp/none",
        "committed hard", "space x", "clock", "cookies old", "dump /exp /nowhere",
    ],
)  # fmt: skip
def test_bad_commands_change_nothing(faultd, c, line):  # noqa: F811
    with pytest.raises(HarnessError, match="error"):
        faultd.cmd(line)
    fh = make_file(c)
    c.write(fh, 0, b"x").ok()


def test_control_lines_are_answered_in_order(faultd):  # noqa: F811
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(faultd.control)
        s.sendall(b"ping\nwait accepted 1\nping\nmute off\n")
        with s.makefile("rb") as f:
            assert f.readline().startswith(b"ok port")
            with faultd.client() as c:
                c.null()
                assert f.readline() == b"ok 1\n"
                assert f.readline().startswith(b"ok port")
                assert f.readline() == b"ok\n"


def test_reserved_source_port(faultd):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("needs root")
    with faultd.client(source_port="reserved") as c:
        c.null()
        assert c.source_port < 1024
        assert faultd.calls()[-1]["port"] == c.source_port


def test_ends_with_its_standard_input():
    f = FaultServer().start()
    f.process.stdin.close()
    assert f.process.wait(20) == 0
    f.kill()
    f.close(check=False)


@pytest.mark.parametrize(
    "options", [["--handle-size", "15"], ["--handle-size", "65"], ["--nope"], ["x"]]
)
def test_bad_options_are_refused(options):
    f = FaultServer(*options)
    with pytest.raises(HarnessError, match="ended with 2"):
        f.start()
    f.close(check=False)


# ---------------------------------------------------------------- a second opinion


@pytest.mark.skipif(not shutil.which("nfs-cp"), reason="libnfs-utils is not installed")
def test_libnfs_tools(faultd, c, tmp_path):  # noqa: F811
    tail = f"?nfsport={faultd.port}&mountport={faultd.port}&version=3"
    source = tmp_path / "source"
    source.write_bytes(pattern(3000000))
    sub = c.mkdir(c.root, "sub", mode=0o777).ok().fh
    c.create(sub, "small").ok()

    def run(*argv):
        done = subprocess.run(argv, capture_output=True, timeout=60)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    run("nfs-cp", str(source), f"nfs://127.0.0.1/exp/copy{tail}")
    assert c.read_file(c.lookup(c.root, "copy").ok().fh) == source.read_bytes()
    run("nfs-cp", f"nfs://127.0.0.1/exp/copy{tail}", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == source.read_bytes()
    listing = run("nfs-ls", "-R", f"nfs://127.0.0.1/exp{tail}").decode()
    assert "copy" in listing and "small" in listing and "3000000" in listing
    assert run("nfs-cat", f"nfs://127.0.0.1/exp/copy{tail}") == source.read_bytes()


def test_large_records_at_speed(faultd, c):  # noqa: F811
    """Not a benchmark: 64 MiB in flight at once must arrive whole and in order."""
    fh = make_file(c)
    block = pattern(1 << 20)

    def send():
        for i in range(64):
            c.start("write", fh, i << 20, block, xid=1000 + i)

    t = threading.Thread(target=send)
    t.start()
    for i in range(64):
        c.wait(1000 + i)
    t.join()
    c.commit(fh).ok()
    assert faultd.file("f")["stable_crc"] == zlib.crc32(block * 64)
    assert sattr() == bytes(24)
