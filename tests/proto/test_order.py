"""P4: the upstream sees the bytes of a file in the order in which they arrived.

"Not sent yet" is shown by a marker: a call that the proxy read later and that may go
out is at the upstream already.
"""

import random

import pytest
from harness import make_file, pattern
from nfs3_client import FILE_SYNC, UNSTABLE
from proto import count_of, mounted, wait_answered

FAR = 1 << 20


def held_writes(faultd):
    """Offsets of the WRITEs received and not executed, as they came."""
    return [w["offset"] for w in faultd.calls("WRITE") if w["status"] is None]


def test_p4_overlapping_writes_are_never_out_together(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = [
        c.start("write", fh, 0, b"a" * 8192),
        c.start("write", fh, 8191, b"b" * 8192),
        c.start("write", fh, FAR, b"marker"),
    ]
    faultd.cmd("wait WRITE 2")
    assert held_writes(faultd) == [0, FAR]
    faultd.cmd("release WRITE 1")
    faultd.cmd("wait calls WRITE 3")
    assert held_writes(faultd) == [FAR, 8191]
    faultd.cmd("release WRITE")
    for xid in xids:
        c.finish(xid).ok()
    content = faultd.dump("f", visible=True)
    assert content[:16383] == b"a" * 8191 + b"b" * 8192


def test_p4_neighbours_do_not_wait(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = [c.start("write", fh, i * 4096, pattern(4096)) for i in range(10)]
    faultd.cmd("wait WRITE 10")
    faultd.cmd("release WRITE")
    for xid in xids:
        c.finish(xid).ok()


def test_p4_chain_of_overlaps(faultd, proxy, c):
    """The third overlaps only the second, which waits for the first."""
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = [
        c.start("write", fh, 0, b"1" * 100),
        c.start("write", fh, 50, b"2" * 100),
        c.start("write", fh, 120, b"3" * 100),
        c.start("write", fh, FAR, b"marker"),
    ]
    faultd.cmd("wait WRITE 2")
    assert held_writes(faultd) == [0, FAR]
    faultd.cmd("release WRITE")
    for xid in xids:
        c.finish(xid).ok()
    content = faultd.dump("f", visible=True)
    assert content[:220] == b"1" * 50 + b"2" * 70 + b"3" * 100


def test_p4_two_clients_overwrite_each_other(faultd, proxy, c):
    """Order of arrival counts, whoever sent it and with whatever stability."""
    with mounted(proxy) as other:
        fh = make_file(c)
        faultd.cmd("hold WRITE")
        first = c.start("write", fh, 0, b"a" * 4096, UNSTABLE)
        faultd.cmd("wait WRITE 1")
        second = other.start("write", fh, 0, b"b" * 4096, FILE_SYNC)
        marker = other.start("write", fh, FAR, b"marker")
        faultd.cmd("wait WRITE 2")
        assert held_writes(faultd) == [0, FAR]
        faultd.cmd("release WRITE")
        c.finish(first).ok()
        other.finish(second).ok()
        other.finish(marker).ok()
    assert faultd.dump("f", visible=True)[:4096] == b"b" * 4096


def test_p4_size_change_waits_for_the_write(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    write = c.start("write", fh, 0, b"a" * 8192)
    faultd.cmd("wait WRITE 1")
    truncate = c.start("setattr", fh, size=100)
    c.getattr(fh).ok()  # on the connection that the SETATTR would take
    assert count_of(faultd, "SETATTR") == 0
    faultd.cmd("release WRITE")
    c.finish(write).ok()
    assert c.finish(truncate).ok().wcc.after.size == 100
    assert faultd.dump("f", visible=True) == b"a" * 100


def test_p4_write_waits_for_the_size_change(faultd, proxy, c):
    fh = make_file(c, data=pattern(1000))
    faultd.cmd("hold SETATTR")
    truncate = c.start("setattr", fh, size=100)
    faultd.cmd("wait SETATTR 1")
    write = c.start("write", fh, 500, b"b" * 100)
    before = c.start("write", fh, 0, b"a" * 100)  # ends where the size change begins
    c.null()
    assert count_of(faultd, "WRITE") == 1  # that of make_file
    faultd.cmd("release SETATTR")
    c.finish(truncate).ok()
    c.finish(before).ok()
    c.finish(write).ok()
    assert c.getattr(fh).ok().attr.size == 600
    want = b"a" * 100 + bytes(400) + b"b" * 100
    assert faultd.dump("f", visible=True) == want


def test_p4_size_changes_are_not_out_together(faultd, proxy, c):
    fh = make_file(c, data=pattern(1000))
    faultd.cmd("hold SETATTR")
    grow = c.start("setattr", fh, size=5000)
    faultd.cmd("wait SETATTR 1")
    shrink = c.start("setattr", fh, size=10)
    c.getattr(fh).ok()
    assert count_of(faultd, "SETATTR") == 1
    faultd.cmd("release SETATTR")
    c.finish(grow).ok()
    assert c.finish(shrink).ok().wcc.after.size == 10


@pytest.mark.parametrize("acked", [False, True], ids=["passed", "acked"])
def test_p4_other_setattr_waits_too(faultd, proxy, c, acked):
    """A WRITE that comes after it would undo utimes(), or not be allowed any more."""
    fh = make_file(c, data=b"x" if acked else b"")
    faultd.cmd("hold WRITE")
    write = c.start("write", fh, 0, b"a")
    if acked:
        c.finish(write).ok()
    setattr = c.start("setattr", fh, mtime=(1000, 1))
    faultd.cmd("wait WRITE 1")
    c.null()
    assert count_of(faultd, "SETATTR") == 0
    faultd.cmd("release WRITE")
    if not acked:
        c.finish(write).ok()
    assert c.finish(setattr).ok().wcc.after.mtime == (1000, 1)
    assert c.getattr(fh).ok().attr.mtime == (1000, 1)


# ---------------------------------------------------------------- sent again


def test_p4_resend_keeps_the_order(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    offsets = [7, 3, 9, 1, 5, 0, 8, 2, 6, 4]
    xids = [c.start("write", fh, o * 100, pattern(100, o)) for o in offsets]
    faultd.cmd("wait WRITE 10")
    faultd.cmd("close all reset")
    faultd.cmd("wait calls WRITE 20")
    sent = faultd.calls("WRITE")
    assert [w["offset"] for w in sent[10:]] == [o * 100 for o in offsets]
    assert [w["xid"] for w in sent[10:]] == [w["xid"] for w in sent[:10]]
    faultd.cmd("release WRITE")
    for xid in xids:
        c.finish(xid).ok()
    want = b"".join(pattern(100, o) for o in range(10))
    assert faultd.dump("f", visible=True) == want


@pytest.mark.parametrize("stage", ["before", "after"])
def test_p4_older_write_of_unknown_fate_goes_first(faultd, proxy, c, stage):
    fh = make_file(c)
    faultd.cmd(f"drop WRITE {stage}")
    older = c.start("write", fh, 0, b"old" * 1000)
    newer = c.start("write", fh, 1000, b"new" * 1000)
    c.finish(older).ok()
    c.finish(newer).ok()
    assert [w["offset"] for w in faultd.calls("WRITE")] == [0, 0, 1000]
    content = faultd.dump("f", visible=True)
    assert content == (b"old" * 1000)[:1000] + b"new" * 1000


def test_p4_truncation_of_unknown_fate_goes_first(faultd, proxy, c):
    fh = make_file(c, data=pattern(1000))
    faultd.cmd("drop SETATTR after")
    truncate = c.start("setattr", fh, size=0)
    write = c.start("write", fh, 0, b"new")
    c.finish(truncate).ok()
    c.finish(write).ok()
    assert count_of(faultd, "SETATTR") == 2
    assert faultd.dump("f", visible=True) == b"new"


def test_p4_stalled_replies_of_several_writes(faultd, proxy, c):
    """Executed, not answered, cut off: sent again before what waits for them."""
    fh = make_file(c)
    faultd.cmd("hold WRITE after")
    xids = [c.start("write", fh, i * 100, b"old." * 25) for i in range(5)]
    wait_answered(faultd, "WRITE", 5)
    xids += [c.start("write", fh, 50 + i * 100, b"new." * 25) for i in range(4)]
    faultd.cmd("clear")
    faultd.cmd("close all reset")
    for xid in xids:
        c.finish(xid).ok()
    want = (b"old." * 25)[:50] + b"new." * 100 + (b"old." * 25)[50:]
    assert faultd.dump("f", visible=True) == want


@pytest.mark.parametrize("seed", range(4))
def test_p4_random_overwrites_with_cuts(faultd, proxy, c, seed):
    """WRITEs and size changes in flight together: the content follows their order."""
    rng = random.Random(seed)
    fh = make_file(c)
    want = bytearray()
    xids = []
    for stage, every in (("before", 23), ("after", 31)):
        for i in range(4):
            faultd.cmd(f"drop WRITE,SETATTR {stage} skip={every + rng.randrange(9)}")
    for i in range(300):
        if rng.random() < 0.05:
            size = rng.randrange(20000)
            del want[size:]
            want += bytes(size - len(want))
            xids.append(c.start("setattr", fh, size=size))
            continue
        offset, data = rng.randrange(16000), rng.randbytes(rng.randrange(1, 4000))
        want += bytes(max(0, offset - len(want)))
        want[offset : offset + len(data)] = data
        xids.append(c.start("write", fh, offset, data, rng.choice([0, 0, 2])))
    for xid in xids:
        c.finish(xid).ok()
    assert faultd.dump("f", visible=True) == bytes(want)
