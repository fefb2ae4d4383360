"""The fault server's data: what is visible, what is stable, what a reboot leaves."""

import os
import random
import sys
import zlib

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import FaultServer, direct, faultd, make_file, pattern  # noqa: E402,F401
from nfs3_client import DATA_SYNC, FILE_SYNC, UNSTABLE  # noqa: E402


@pytest.fixture
def c(direct):  # noqa: F811
    return direct


# ---------------------------------------------------------------- data


def test_read_write(c):
    fh = make_file(c)
    data = pattern(300000)
    before = c.getattr(fh).attr
    r = c.write(fh, 0, data).ok()
    assert (r.count, r.committed, len(r.verf)) == (300000, UNSTABLE, 8)
    assert r.wcc.before == (0, before.mtime, before.ctime)
    assert r.wcc.after.size == 300000 and r.wcc.after.ctime > before.ctime
    assert c.write(fh, 65000, b"middle", DATA_SYNC).ok().committed == DATA_SYNC
    assert c.write(fh, 400000, b"end", FILE_SYNC).ok().committed == FILE_SYNC
    data = data[:65000] + b"middle" + data[65006:] + bytes(100000) + b"end"
    assert c.read_file(fh) == data
    r = c.read(fh, 399999, 100).ok()
    assert (r.data, r.eof) == (b"\0end", True)
    r = c.read(fh, 500000, 100).ok()
    assert (r.data, r.eof) == (b"", True)
    assert c.read(fh, 0, 0).ok().eof is False
    assert c.read(fh, 0, 0xFFFFFFFF).ok().count == len(data)  # below rtmax
    assert c.write(fh, 1 << 40, b"x").name == "FBIG"
    assert c.write(fh, (1 << 64) - 2, b"xyz").name == "INVAL"
    assert c.write(c.root, 0, b"x").name == "INVAL"
    assert c.write(fh, 5, b"").ok().count == 0


def test_sizes_are_capped():
    with FaultServer("--rtmax", "8192", "--wtmax", "4096") as f, f.client() as c:
        c.root = c.mnt("/exp").ok().fh
        fh = make_file(c)
        assert c.write(fh, 0, bytes(5000)).ok().count == 4096
        c.write(fh, 4096, bytes(4096)).ok()
        c.write(fh, 8192, bytes(4096)).ok()
        assert c.read(fh, 0, 12288).ok().count == 8192


def test_unstable_data_dies_at_reboot(faultd, c):  # noqa: F811
    fh = make_file(c, "f", b"A" * 100000)
    old = c.write(fh, 50000, b"B" * 100000).ok().verf
    c.write(fh, 10, b"sync", FILE_SYNC).ok()
    info = faultd.file("f")
    assert (info["size"], info["stable_size"]) == (150000, 100000)
    assert info["dirty"] == 100000
    visible = c.read_file(fh)
    assert info["crc"] == zlib.crc32(visible)
    assert faultd.dump("f", visible=True) == visible
    stable = b"A" * 10 + b"sync" + b"A" * 99986
    assert faultd.dump("f") == stable and info["stable_crc"] == zlib.crc32(stable)
    faultd.cmd("reboot")
    c.expect_closed()
    with faultd.client() as n:
        assert n.read_file(fh) == stable
        assert n.getattr(fh).attr.size == 100000
        new = n.commit(fh).ok().verf
        assert new != old and new != bytes(8)
        assert n.write(fh, 0, b"x").ok().verf == new


def test_reboot_that_keeps_and_verifier_that_changes(faultd, c):  # noqa: F811
    fh = make_file(c)
    v = [c.write(fh, 0, b"kept").ok().verf]
    faultd.cmd("reboot keep quiet")
    v.append(c.commit(fh).ok().verf)
    assert c.read_file(fh) == b"kept"
    faultd.cmd("verifier new")
    v.append(c.commit(fh).ok().verf)
    assert len(set(v)) == 3
    faultd.cmd("verifier 00000000000000ff")
    assert c.commit(fh).ok().verf == bytes(7) + b"\xff"
    assert faultd.dump("f") == b"kept"


def test_reboot_keeps_some_blocks(faultd, c):  # noqa: F811
    fh = make_file(c, "f", b"A" * 400000)
    c.write(fh, 0, b"B" * 400000).ok()
    faultd.cmd("reboot quiet some 42")
    got = c.read_file(fh)
    blocks = [got[i : i + 4096] for i in range(0, 400000, 4096)]
    assert all(b in (b"A" * len(b), b"B" * len(b)) for b in blocks)
    assert {b[:1] for b in blocks} == {b"A", b"B"}
    assert faultd.dump("f") == got


def test_commit_makes_stable_what_it_names(faultd, c):  # noqa: F811
    fh = make_file(c)
    data = pattern(200000)
    c.write(fh, 0, data).ok()
    c.commit(fh, 70000, 1000).ok()
    stable = faultd.dump("f")
    assert stable == bytes(70000) + data[70000:71000]
    c.commit(fh, 150000, 0).ok()
    assert faultd.dump("f")[150000:] == data[150000:]
    c.commit(fh).ok()
    assert faultd.dump("f") == data
    assert faultd.file("f")["dirty"] == 0
    before = faultd.stats()["empty_commits"]
    c.commit(fh).ok()
    assert faultd.stats()["empty_commits"] == before + 1
    assert c.commit(c.root).name == "INVAL"


def test_commit_covers_only_what_came_before_it(faultd, c):  # noqa: F811
    fh = make_file(c)
    c.write(fh, 0, b"early" * 20000).ok()
    faultd.cmd("hold COMMIT")
    held = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    c.write(fh, 0, b"LATE!").ok()
    c.write(fh, 200000, b"LATE!").ok()
    c.write(fh, 10, b"FORCE", FILE_SYNC).ok()
    assert faultd.cmd("waiting COMMIT") == "1"
    assert faultd.cmd("release COMMIT") == "1"
    c.finish(held).ok()
    want = bytearray(b"early" * 20000)
    want[10:15] = b"FORCE"
    assert faultd.dump("f") == bytes(want)
    assert c.read_file(fh, 5) == b"LATE!"
    c.commit(fh).ok()
    assert faultd.dump("f") == faultd.dump("f", visible=True)


def test_commits_out_of_order_never_bring_back_old_bytes(faultd, c):  # noqa: F811
    fh = make_file(c)
    faultd.cmd("hold COMMIT")
    c.write(fh, 0, b"1" * 70000).ok()
    first = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    with faultd.client() as other:
        c.write(fh, 0, b"2" * 66000).ok()
        other.start("commit", fh)
        faultd.cmd("wait COMMIT 2")
        second_conn = faultd.calls("COMMIT")[-1]["conn"]
        assert faultd.cmd(f"release COMMIT 1 conn={second_conn}") == "1"
        faultd.cmd("release COMMIT")
        c.finish(first).ok()
    assert faultd.dump("f") == b"2" * 66000 + b"1" * 4000


def test_truncation_beats_a_waiting_commit(faultd, c):  # noqa: F811
    fh = make_file(c)
    c.write(fh, 0, b"x" * 1000).ok()
    faultd.cmd("hold COMMIT")
    held = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    c.setattr(fh, size=10).ok()
    c.setattr(fh, size=20).ok()
    faultd.cmd("release COMMIT")
    c.finish(held).ok()
    assert faultd.dump("f") == b"x" * 10 + bytes(10)


def test_a_waiting_commit_does_not_survive_a_reboot(faultd, c):  # noqa: F811
    fh = make_file(c, "f", b"old")
    c.write(fh, 0, b"new").ok()
    faultd.cmd("hold COMMIT")
    held = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    faultd.cmd("reboot quiet")
    faultd.cmd("release COMMIT")
    c.finish(held).ok()
    assert faultd.dump("f") == b"old" == c.read_file(fh)


def test_removed_file_with_a_waiting_commit(faultd, c):  # noqa: F811
    fh = make_file(c)
    c.write(fh, 0, b"x").ok()
    faultd.cmd("hold COMMIT")
    held = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    c.remove(c.root, "f").ok()
    faultd.cmd("release COMMIT")
    assert c.finish(held).name == "STALE"


def test_random_writes_against_a_model(faultd, c):  # noqa: F811

    seed = random.randrange(1 << 30)
    print("seed", seed)
    r = random.Random(seed)
    fh = make_file(c)
    visible, stable = bytearray(), bytearray()

    def put(image, off, data):
        if len(image) < off:
            image.extend(bytes(off - len(image)))
        image[off : off + len(data)] = data

    for _ in range(400):
        op = r.random()
        off, n = r.randrange(300000), r.choice((1, 100, 4096, 65536, 131072))
        data = bytes([r.randrange(256)]) * n
        if op < 0.6:
            c.write(fh, off, data).ok()
            put(visible, off, data)
        elif op < 0.75:
            c.write(fh, off, data, FILE_SYNC).ok()
            put(visible, off, data)
            put(stable, off, data)
        elif op < 0.85:
            c.commit(fh).ok()
            stable = bytearray(visible)
        elif op < 0.92:
            size = r.randrange(400000)
            c.setattr(fh, size=size).ok()
            for image in (visible, stable):
                del image[size:]
                image.extend(bytes(size - len(image)))
        else:
            faultd.cmd("reboot quiet")
            visible = bytearray(stable)
        if op > 0.5:
            assert c.read_file(fh) == visible
            assert faultd.file("f")["stable_crc"] == zlib.crc32(stable)
