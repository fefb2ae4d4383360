"""P7: what comes twice is executed once and answered the same.

First when a client sends again, then when we do after a reconnect: the upstream here
has no cache of its own and executes whatever comes.
"""

import pytest
from harness import make_file
from nfs3_client import CHR, FIFO, FILE_SYNC, GUARDED, UNSTABLE, Closed
from proto import (
    count_of, lose, machine, mounted, reply, send, status_of, upstream_counters,
)  # fmt: skip

XID = 0x5EED0001


def arrange(c):
    """What the calls below work on."""
    c.file = make_file(c, "file", b"content")
    c.ctime = c.setattr(c.file, mode=0o640).ok().wcc.after.ctime
    make_file(c, "gone")
    make_file(c, "old")
    c.dir = c.mkdir(c.root, "dir").ok().fh
    c.mkdir(c.dir, "empty").ok()


# name of the case: procedure, arguments made of the client
CALLS = {
    "setattr": ("setattr", lambda c: (c.file, c.ctime)),
    "create": ("create", lambda c: (c.root, "new", GUARDED)),
    "mkdir": ("mkdir", lambda c: (c.root, "newdir")),
    "symlink": ("symlink", lambda c: (c.root, "newlink", "to/where")),
    "fifo": ("mknod", lambda c: (c.root, "newfifo", FIFO)),
    "device": ("mknod", lambda c: (c.root, "newdev", CHR, (1, 3))),
    "remove": ("remove", lambda c: (c.root, "gone")),
    "rmdir": ("rmdir", lambda c: (c.dir, "empty")),
    "rename": ("rename", lambda c: (c.root, "old", c.dir, "renamed")),
    "link": ("link", lambda c: (c.file, c.dir, "hard")),
    "write": ("write", lambda c: (c.file, 3, b"TEN", FILE_SYNC)),
    "setacl": ("setacl", lambda c: (c.file, 1, ((1, 0, 6), (4, 0, 4), (32, 0, 4)))),
}
EXTRA = {"setattr": {"mode": 0o600}}
every_call = pytest.mark.parametrize("case", CALLS)


def arguments(case, c):
    name, args = CALLS[case]
    return (name, *args(c)), EXTRA.get(case, {})


@every_call
def test_p7_sent_twice_on_one_connection(faultd, proxy, c, case):
    arrange(c)
    args, kw = arguments(case, c)
    before = count_of(faultd, args[0].upper())
    first = reply(c, *args, xid=XID, **kw)
    assert status_of(first) == 0
    assert reply(c, *args, xid=XID, **kw) == first
    assert count_of(faultd, args[0].upper()) == before + 1
    assert upstream_counters(proxy)["replies_repeated"] == 1


@every_call
def test_p7_sent_again_on_a_new_connection(faultd, proxy, c, case):
    """The old connection is the one that the client gave up: it is closed."""
    arrange(c)
    args, kw = arguments(case, c)
    before = count_of(faultd, args[0].upper())
    first = reply(c, *args, xid=XID, **kw)
    with proxy.client() as again:
        assert reply(again, *args, xid=XID, **kw) == first
        assert c.expect_closed() == b""
        again.null()
    assert count_of(faultd, args[0].upper()) == before + 1
    assert upstream_counters(proxy)["sessions_replaced"] == 1


def test_p7_an_error_is_repeated_too(faultd, proxy, c):
    first = reply(c, "remove", c.root, "none", xid=XID)
    assert status_of(first) == 2
    make_file(c, "none")
    assert reply(c, "remove", c.root, "none", xid=XID) == first
    c.lookup(c.root, "none").ok()


def test_p7_another_machine_name_is_another_client(faultd, proxy, c):
    first = reply(c, "mkdir", c.root, "d", xid=XID, cred=machine("one"))
    with proxy.client() as other:
        second = reply(other, "mkdir", c.root, "d", xid=XID, cred=machine("two"))
        assert status_of(second) == 17
        assert reply(c, "mkdir", c.root, "d", xid=XID, cred=machine("one")) == first
    assert count_of(faultd, "MKDIR") == 2


def test_p7_same_xid_with_other_arguments_is_another_call(faultd, proxy, c):
    first = reply(c, "mkdir", c.root, "a", xid=XID)
    second = reply(c, "mkdir", c.root, "b", xid=XID)
    assert status_of(first) == status_of(second) == 0
    assert count_of(faultd, "MKDIR") == 2
    assert reply(c, "mkdir", c.root, "a", xid=XID) == first
    assert reply(c, "mkdir", c.root, "b", xid=XID) == second


def test_p7_a_thousand_later_calls_do_not_push_it_out(faultd, proxy, c):
    fh = make_file(c)
    first = reply(c, "mkdir", c.root, "d", xid=XID)
    for turn in range(10):
        xids = [c.start("write", fh, i, b"x", FILE_SYNC) for i in range(102)]
        for xid in xids:
            c.finish(xid).ok()
    assert reply(c, "mkdir", c.root, "d", xid=XID) == first
    assert count_of(faultd, "MKDIR") == 1


# ---------------------------------------------------------------- in progress


def slow_arguments(c):
    """Of calls that are not answered before the upstream has answered."""
    fh, unknown = make_file(c, data=b"data"), make_file(c, "unknown")
    return {
        "mkdir": (c.root, "d"), "write": (fh, 0, b"x", FILE_SYNC),
        "commit": (unknown,), "read": (fh, 0, 10),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mkdir", "write", "commit", "read"])
def test_p7_in_progress_on_one_connection(faultd, proxy, c, name):
    args = slow_arguments(c)[name]
    before = count_of(faultd, name.upper())
    faultd.cmd(f"hold {name}")
    send(c, name, *args, xid=XID)
    faultd.cmd(f"wait {name} 1")
    send(c, name, *args, xid=XID)
    c.null()
    faultd.cmd(f"release {name}")
    assert status_of(c.recv_record()) == 0
    c.null()  # there is no second reply before this one
    assert not c.arrived
    assert count_of(faultd, name.upper()) == before + 1
    assert upstream_counters(proxy)["calls_attached"] == 1


@pytest.mark.parametrize("name", ["mkdir", "write", "commit", "read"])
def test_p7_in_progress_moves_to_the_new_connection(faultd, proxy, c, name):
    args = slow_arguments(c)[name]
    before = count_of(faultd, name.upper())
    faultd.cmd(f"hold {name}")
    send(c, name, *args, xid=XID)
    faultd.cmd(f"wait {name} 1")
    with proxy.client() as again:
        send(again, name, *args, xid=XID)
        assert c.expect_closed() == b""
        faultd.cmd(f"release {name}")
        assert status_of(again.recv_record()) == 0
    assert count_of(faultd, name.upper()) == before + 1


def test_p7_client_reconnects_while_its_call_is_in_progress(faultd, proxy, c):
    """The old connection is gone before the copy comes."""
    faultd.cmd("hold MKDIR")
    send(c, "mkdir", c.root, "d", xid=XID)
    faultd.cmd("wait MKDIR 1")
    root = c.root
    c.reset()
    with proxy.client() as again:
        send(again, "mkdir", root, "d", xid=XID)
        again.null()
        faultd.cmd("release MKDIR")
        assert status_of(again.recv_record()) == 0
    assert count_of(faultd, "MKDIR") == 1


def test_p7_answered_while_nobody_was_connected(faultd, proxy, c):
    faultd.cmd("hold MKDIR")
    send(c, "mkdir", c.root, "d", xid=XID)
    faultd.cmd("wait MKDIR 1")
    root = c.root
    c.reset()
    with proxy.client() as again:
        again.null()
        faultd.cmd("release MKDIR")
        again.lookup(root, "d").ok()  # so it has been answered upstream
        assert status_of(reply(again, "mkdir", root, "d", xid=XID)) == 0
    assert count_of(faultd, "MKDIR") == 1


# ---------------------------------------------------------------- WRITE and COMMIT


def test_p7_write_is_repeated_with_the_verifier_it_was_made_with(faultd, proxy, c):
    fh = make_file(c)
    first = reply(c, "write", fh, 0, b"data", UNSTABLE, xid=XID)
    assert lose(faultd, c) == first[-8:]
    assert c.commit(fh).ok().verf != first[-8:]
    assert reply(c, "write", fh, 0, b"data", UNSTABLE, xid=XID) == first


def test_p7_write_acked_early_is_repeated_and_not_taken_again(faultd, proxy, c):
    fh = make_file(c, data=b"data")
    first = reply(c, "write", fh, 0, b"old", UNSTABLE, xid=XID)
    c.write(fh, 0, b"new").ok()
    assert reply(c, "write", fh, 0, b"old", UNSTABLE, xid=XID) == first
    c.commit(fh).ok()
    assert faultd.dump("f") == b"newa"
    counters = upstream_counters(proxy)
    assert (counters["writes_acked_early"], counters["replies_repeated"]) == (2, 1)


def test_p7_old_write_does_not_lie_down_on_a_newer_one(faultd, proxy, c):
    fh = make_file(c)
    first = reply(c, "write", fh, 0, b"old", FILE_SYNC, xid=XID)
    c.write(fh, 0, b"new", FILE_SYNC).ok()
    assert reply(c, "write", fh, 0, b"old", FILE_SYNC, xid=XID) == first
    assert faultd.dump("f") == b"new"


def test_p7_stale_write_read_late_from_an_old_connection(faultd, proxy, c):
    """Half of it had arrived when the client gave the connection up."""
    from nfs3_client import call_bytes, record
    from nfs3_xdr import ARGS, NFS

    fh = make_file(c)
    payload = ARGS["write"](fh, 0, b"old" * 100, FILE_SYNC)
    whole = record(call_bytes(NFS, 3, 7, payload, c.cred, XID))
    c.send_raw(whole[:200])
    with proxy.client() as again:
        again.send_raw(whole)
        assert status_of(again.recv_record()) == 0
        again.write(fh, 0, b"new" * 100, FILE_SYNC).ok()
        try:
            c.send_raw(whole[200:])
        except Closed:
            pass
        assert c.expect_closed() == b""
        again.null()
    assert faultd.dump("f") == b"new" * 100
    assert count_of(faultd, "WRITE") == 2


def test_p7_error_of_a_commit_is_not_lost_with_its_reply(faultd, proxy, c):
    fh = make_file(c)
    c.write(fh, 0, b"data").ok()
    faultd.cmd("error COMMIT IO 1")
    faultd.cmd("error WRITE IO 1")  # it is written once more
    first = reply(c, "commit", fh, xid=XID)
    assert status_of(first) == 5
    with proxy.client() as again:
        assert reply(again, "commit", fh, xid=XID) == first
    assert count_of(faultd, "COMMIT") == 1


# ---------------------------------------------------------------- we send again


@every_call
@pytest.mark.parametrize("stage", ["before", "after"])
def test_p7_our_own_resend_is_not_seen(faultd, proxy, c, case, stage):
    """Executed or not before the connection broke: the client gets success."""
    arrange(c)
    args, kw = arguments(case, c)
    before = count_of(faultd, args[0].upper())
    faultd.cmd(f"drop {args[0]} {stage}")
    r = c.call(*args, **kw)
    assert r.name == "OK"
    assert count_of(faultd, args[0].upper()) == before + 2
    if getattr(r, "fh", None):
        assert r.fh == c.lookup(args[1], args[2]).ok().fh
        assert r.attr == c.getattr(r.fh).ok().attr


def age(faultd, c):
    """Moves the upstream's clock on, so that what is there was there before."""
    faultd.cmd("clock 5000")
    c.mkdir(c.root, "younger").ok()


EXISTING = {
    "create": ("create", "file", lambda c: (c.root, "file", GUARDED)),
    "mkdir": ("mkdir", "dir", lambda c: (c.root, "dir")),
    "symlink": ("symlink", "sym", lambda c: (c.root, "sym", "target")),
    "mknod": ("mknod", "fifo", lambda c: (c.root, "fifo", FIFO)),
    "link": ("link", "old", lambda c: (c.file, c.root, "old")),
}


@pytest.mark.parametrize("case", EXISTING)
@pytest.mark.parametrize("stage", ["before", "after"])
def test_p7_what_really_existed_is_told_after_a_resend(faultd, proxy, c, case, stage):
    arrange(c)
    c.symlink(c.root, "sym", "other").ok()
    c.mknod(c.root, "fifo", FIFO).ok()
    age(faultd, c)
    name, _, args = EXISTING[case]
    faultd.cmd(f"drop {name} {stage}")
    before = count_of(faultd, name.upper())
    assert c.call(name, *args(c)).name == "EXIST"
    assert count_of(faultd, name.upper()) == before + 2


def test_p7_type_of_what_exists_counts(faultd, proxy, c):
    """Another client made a directory there while our connection was broken."""
    make_file(c, "clock")
    faultd.cmd("hold CREATE")
    xid = c.start("create", c.root, "x", GUARDED)
    faultd.cmd("wait CREATE 1")
    with mounted(faultd) as other:
        other.mkdir(other.root, "x").ok()
    faultd.cmd("close all reset")
    faultd.cmd("wait calls CREATE 3")
    faultd.cmd("release CREATE")
    assert c.finish(xid).name == "EXIST"


def test_p7_lock_file_of_another_client_is_not_taken_for_ours(faultd, proxy, c):
    """All that the proxy has seen is old; another took the lock a while ago."""
    with mounted(faultd) as other:
        fh = make_file(other)
        faultd.cmd("clock 60000")
        other.create(other.root, "lock", GUARDED).ok()
    faultd.cmd("clock 120000")
    faultd.cmd("drop CREATE after")
    c.getattr(fh).ok()
    assert c.create(c.root, "lock", GUARDED).name == "EXIST"
    assert count_of(faultd, "CREATE") == 4


def test_p7_rename_of_what_is_not_there(faultd, proxy, c):
    arrange(c)
    faultd.cmd("drop RENAME after")
    assert c.rename(c.root, "nothing", c.dir, "target").name == "NOENT"
    assert count_of(faultd, "RENAME") == 2


def test_p7_wrong_guard_is_told_after_a_resend(faultd, proxy, c):
    arrange(c)
    faultd.cmd("drop SETATTR after")
    assert c.setattr(c.file, (1, 1), mode=0o600).name == "NOT_SYNC"
    assert c.getattr(c.file).ok().attr.mode == 0o640


def test_p7_errors_without_a_resend_stay_errors(faultd, proxy, c):
    arrange(c)
    assert c.remove(c.root, "none").name == "NOENT"
    assert c.rmdir(c.root, "none").name == "NOENT"
    assert c.rename(c.root, "none", c.root, "x").name == "NOENT"
    assert c.mkdir(c.root, "dir").name == "EXIST"
    assert c.create(c.root, "file", GUARDED).name == "EXIST"
    assert c.link(c.file, c.root, "old").name == "EXIST"
    assert c.setattr(c.file, (1, 1), mode=0o600).name == "NOT_SYNC"


def test_p7_exclusive_create_knows_itself_again(faultd, proxy, c):
    from nfs3_client import EXCLUSIVE

    faultd.cmd("drop CREATE after")
    r = c.create(c.root, "x", EXCLUSIVE, b"8 bytes!").ok()
    assert r.fh == c.lookup(c.root, "x").ok().fh
    assert count_of(faultd, "CREATE") == 2
    assert c.create(c.root, "x", EXCLUSIVE, b"8 BYTES!").name == "EXIST"
