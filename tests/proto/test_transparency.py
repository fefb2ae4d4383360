"""P11: a client cannot tell the proxy from its server, and may be moved between them.

Replies are compared as bytes: with what the upstream answered (a tap sees that), or
with what it answers to a client of its own.
"""

import shutil
import struct
import subprocess

import pytest
from harness import FaultServer, Proxy, free_port, make_file, pattern, upstream_conf
from nfs3_client import (
    BLK, CHR, EXCLUSIVE, FIFO, FILE_SYNC, GUARDED, SOCK, UNSTABLE, RpcError,
)  # fmt: skip
from nfs3_xdr import ARGS, PROCS, STATUS
from proto import REPLY_HEADER, machine, mounted, reply, upstream_counters
from tap import Tap

XID = 0x7A900001
ACL = ((1, 0, 6), (2, 1001, 4), (4, 0, 4), (16, 0, 6), (32, 0, 0))


@pytest.fixture(params=[16, 32, 36, 61, 64])
def sized(request):
    """(faultd, tap, proxy): handles of several lengths, also odd ones."""
    with (
        FaultServer("--handle-size", str(request.param)) as faultd,
        Tap(faultd) as tap,
        Proxy(tap) as proxy,
    ):
        yield faultd, tap, proxy


def arrange(c):
    c.file = make_file(c, "file", pattern(10000))
    c.dir = c.mkdir(c.root, "dir").ok().fh
    c.other = make_file(c, "other")
    c.link_fh = c.symlink(c.root, "sym", "to/some/where").ok().fh
    for i in range(20):
        make_file(c, f"entry-{i}" + "x" * (i % 4))
    make_file(c, "remove-me")
    c.mkdir(c.root, "rmdir-me").ok()


# (procedure, arguments made of the client, keywords); statuses other than OK as well
EVERY = [
    ("null", lambda c: (), {}),
    ("getattr", lambda c: (c.file,), {}),
    ("getattr", lambda c: (c.dir,), {}),
    ("getattr", lambda c: (c.file[:-1] + b"\xff",), {}),
    ("setattr", lambda c: (c.file,), {"mode": 0o604, "atime": (5, 6)}),
    ("setattr", lambda c: (c.file,), {"size": 9000, "mtime": "server"}),
    ("setattr", lambda c: (c.file, (1, 2)), {"mode": 0}),
    ("lookup", lambda c: (c.root, "file"), {}),
    ("lookup", lambda c: (c.root, ".."), {}),
    ("lookup", lambda c: (c.root, "none"), {}),
    ("lookup", lambda c: (c.root, "n" * 255), {}),
    ("lookup", lambda c: (c.root, "n" * 256), {}),
    ("lookup", lambda c: (c.root, ""), {}),
    ("lookup", lambda c: (c.root, bytes(range(128, 255))), {}),
    ("access", lambda c: (c.file,), {}),
    ("access", lambda c: (c.dir, 0x3F), {}),
    ("readlink", lambda c: (c.link_fh,), {}),
    ("readlink", lambda c: (c.file,), {}),
    ("read", lambda c: (c.file, 0, 4096), {}),
    ("read", lambda c: (c.file, 1, 4095), {}),
    ("read", lambda c: (c.file, 3, 4094), {}),
    ("read", lambda c: (c.file, 8000, 4096), {}),
    ("read", lambda c: (c.file, 1 << 40, 1), {}),
    ("read", lambda c: (c.file, 0, 0), {}),
    ("read", lambda c: (c.dir, 0, 10), {}),
    ("write", lambda c: (c.file, 0, b"1", UNSTABLE), {}),
    ("write", lambda c: (c.file, 5, b"12", FILE_SYNC), {}),
    # The first of a file passes through; others are answered before the upstream is.
    ("write", lambda c: (c.other, 7, b"123", UNSTABLE), {}),
    ("write", lambda c: (c.file, 7, b"", UNSTABLE), {}),
    ("write", lambda c: (c.dir, 0, b"data"), {}),
    ("write", lambda c: (c.file, 2**63, b"data", FILE_SYNC), {}),
    ("commit", lambda c: (c.file,), {}),
    ("commit", lambda c: (c.dir,), {}),
    ("create", lambda c: (c.root, "unchecked"), {"mode": 0o640, "size": 0}),
    ("create", lambda c: (c.root, "guarded", GUARDED), {}),
    ("create", lambda c: (c.root, "file", GUARDED), {}),
    ("create", lambda c: (c.root, "excl", EXCLUSIVE, b"12345678"), {}),
    ("create", lambda c: (c.root, "excl", EXCLUSIVE, b"12345678"), {}),
    ("create", lambda c: (c.root, "excl", EXCLUSIVE, b"87654321"), {}),
    ("mkdir", lambda c: (c.root, "newdir"), {}),
    ("mkdir", lambda c: (c.root, "dir"), {}),
    ("symlink", lambda c: (c.root, "newsym", "t" * 1023), {}),
    ("symlink", lambda c: (c.root, "sym", "t"), {}),
    ("mknod", lambda c: (c.root, "fifo", FIFO), {}),
    ("mknod", lambda c: (c.root, "sock", SOCK), {}),
    ("mknod", lambda c: (c.root, "chr", CHR, (5, 1)), {}),
    ("mknod", lambda c: (c.root, "blk", BLK, (2**32 - 1, 7)), {}),
    ("mknod", lambda c: (c.root, "reg", 1), {}),
    ("remove", lambda c: (c.root, "remove-me"), {}),
    ("remove", lambda c: (c.root, "none"), {}),
    ("rmdir", lambda c: (c.root, "rmdir-me"), {}),
    ("rmdir", lambda c: (c.root, "file"), {}),
    ("rename", lambda c: (c.root, "entry-0", c.dir, "moved"), {}),
    ("rename", lambda c: (c.root, "none", c.dir, "moved"), {}),
    ("link", lambda c: (c.file, c.dir, "hard"), {}),
    ("link", lambda c: (c.file, c.root, "file"), {}),
    ("readdir", lambda c: (c.root, 0, 0, 300), {}),
    ("readdir", lambda c: (c.root, 0, 0, 8192), {}),
    ("readdir", lambda c: (c.root, 0, 0, 1), {}),
    ("readdir", lambda c: (c.file,), {}),
    ("readdirplus", lambda c: (c.root, 0, 0, 300, 1000), {}),
    ("readdirplus", lambda c: (c.root,), {}),
    ("readdirplus", lambda c: (c.root, 99999999, 5), {}),
    ("fsstat", lambda c: (c.root,), {}),
    ("fsinfo", lambda c: (c.root,), {}),
    ("pathconf", lambda c: (c.root,), {}),
    ("acl_null", lambda c: (), {}),
    ("setacl", lambda c: (c.file, 3, ACL), {}),
    ("getacl", lambda c: (c.file,), {}),
    ("getacl", lambda c: (c.dir, 5), {}),
    ("setacl", lambda c: (c.dir, 15, ACL, ACL), {}),
    ("mount_null", lambda c: (), {}),
    ("mnt", lambda c: ("/exp/dir",), {}),
    ("mnt", lambda c: ("/exp/none",), {}),
    ("dump", lambda c: (), {}),
    ("export", lambda c: (), {}),
    ("umnt", lambda c: ("/exp",), {}),
]
LOCAL = ("null", "acl_null", "mount_null")


def arguments_of(call):
    at = 24
    for _ in range(2):  # credential, verifier
        n = struct.unpack(">I", call[at + 4 : at + 8])[0]
        at += 8 + n + -n % 4
    return call[at:]


def without_verifier(name, results):
    """The write verifier is the proxy's own (P3); it is last in both replies."""
    if name in ("write", "commit") and results[:4] == bytes(4):
        return results[:-8]
    return results


def test_p11_every_reply_is_the_upstreams(sized):
    faultd, tap, proxy = sized
    with mounted(proxy) as c:
        arrange(c)
        for i, (name, args, kw) in enumerate(EVERY):
            ours = reply(c, name, *args(c), xid=XID + i, **kw)
            if name in LOCAL:
                assert ours[REPLY_HEADER:] == b""
                continue
            program, _, number = PROCS[name]
            call, theirs = tap.last(number, program)
            what = f"{i}: {name} {kw}"
            assert ours[4:REPLY_HEADER] == theirs[4:REPLY_HEADER], what
            assert without_verifier(name, ours[REPLY_HEADER:]) == without_verifier(
                name, theirs[REPLY_HEADER:]
            ), what
            if name == "commit":
                args = lambda c, a=args: (*a(c), 0, 0)  # noqa: E731
            assert arguments_of(call) == ARGS[name](*args(c), **kw), what


@pytest.mark.parametrize("how", ["noattrs on", "nowcc on"])
def test_p11_replies_without_attributes(how):
    with FaultServer() as faultd, Tap(faultd) as tap, Proxy(tap) as proxy:
        with mounted(proxy) as c:
            arrange(c)
            faultd.cmd(how)
            for i, (name, args, kw) in enumerate(EVERY):
                if name in LOCAL:
                    continue
                ours = reply(c, name, *args(c), xid=XID + i, **kw)
                program, _, number = PROCS[name]
                theirs = tap.last(number, program).reply
                assert without_verifier(name, ours[REPLY_HEADER:]) == without_verifier(
                    name, theirs[REPLY_HEADER:]
                ), f"{i}: {name} {kw}"


def test_p11_handles_work_on_both_sides(sized):
    faultd, _, proxy = sized
    with mounted(proxy) as through, mounted(faultd) as direct:
        assert through.root == direct.root
        fh = make_file(through, "f", b"through")
        assert direct.read_file(fh) == b"through"
        direct.write(fh, 0, b"direct!", FILE_SYNC).ok()
        assert through.read_file(direct.lookup(direct.root, "f").ok().fh) == b"direct!"


def test_p11_upstream_errors_of_every_kind(faultd, proxy, c):
    for status in STATUS:
        if status:
            faultd.cmd(f"error GETATTR {status} 1")
            assert c.getattr(c.root).status == status


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("rtmax, seen", [(65536, 65536), (1 << 20, 1 << 20),
                                         (4 << 20, 1 << 20)])  # fmt: skip
def test_p11_read_sizes_are_capped_at_one_mebibyte(rtmax, seen):
    with FaultServer("--rtmax", str(rtmax)) as faultd, Proxy(faultd) as proxy:
        with mounted(proxy) as through, mounted(faultd) as direct:
            ours, theirs = through.fsinfo(through.root), direct.fsinfo(direct.root)
            assert theirs.rtmax == rtmax
            assert ours.rtmax == seen
            assert ours.rtpref == min(theirs.rtpref, seen)
            for field in ("rtmult wtmax wtpref wtmult dtpref maxfilesize time_delta "
                          "properties attr").split():  # fmt: skip
                assert getattr(ours, field) == getattr(theirs, field)
            data = pattern(2 << 20)
            fh = make_file(direct, "f")
            for at in range(0, len(data), 1 << 20):
                direct.write(fh, at, data[at : at + (1 << 20)]).ok()
            for count in (seen, 4 << 20, 0xFFFFFFFF):
                r = through.read(fh, 5, count).ok()
                assert r.count == seen and not r.eof
                assert r.data == data[5 : 5 + seen]


@pytest.mark.parametrize("wtmax", [65536, 512 << 10, 1 << 20, 4 << 20])
def test_p11_largest_write_passes_whole(wtmax):
    with FaultServer("--wtmax", str(wtmax)) as faultd, Proxy(faultd) as proxy:
        with mounted(proxy) as c:
            assert c.fsinfo(c.root).ok().wtmax == wtmax
            fh = make_file(c)
            data = pattern(wtmax)
            assert c.write(fh, 3, data, FILE_SYNC).ok().count == wtmax
            assert faultd.dump("f") == bytes(3) + data
            assert faultd.stats()["calls"]["WRITE"] == 1


def test_p11_short_reads_are_passed_on(faultd, proxy, c):
    fh = make_file(c, data=pattern(100))
    faultd.cmd("short READ 10 1")
    r = c.read(fh, 0, 100).ok()
    assert (r.count, r.eof) == (10, False)


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
def test_short_writes_are_completed(faultd, proxy, c, stable):
    """Some clients write all of it once more, some give up."""
    fh = make_file(c)
    faultd.cmd("short WRITE 10 3")
    assert c.write(fh, 5, pattern(100), stable).ok().count == 100
    assert c.write(fh, 105, pattern(100), stable).ok().count == 100
    c.commit(fh).ok()
    assert faultd.dump("f") == bytes(5) + pattern(100) * 2


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
@pytest.mark.parametrize("offset", [0, 100, 50, 1 << 40, 2**64 - 1])
def test_write_of_nothing_changes_nothing(faultd, proxy, c, offset, stable):
    """Not even the size, wherever it is; the next call is answered, too."""
    fh = make_file(c, data=pattern(100))
    with mounted(faultd) as direct:
        theirs = direct.write(fh, offset, b"", stable)
    ours = c.write(fh, offset, b"", stable)
    assert ours.status == theirs.status
    assert ours.status or ours.count == 0
    c.commit(fh).ok()
    assert c.getattr(fh).ok().attr.size == 100
    assert faultd.dump("f") == pattern(100)


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
@pytest.mark.parametrize(
    "offset, size", [(2**64 - 2, 4), (2**64 - 1, 1), (2**64 - 4096, 8192), (2**63, 1)]
)
def test_write_past_the_largest_offset(faultd, c, offset, size, stable):
    """Refused with one of the statuses for it, and the file is as before, also for
    COMMITs whose range wraps."""
    fh = make_file(c, data=pattern(100))
    c.write(fh, 100, pattern(50)).ok()
    assert c.write(fh, offset, bytes(size), stable).name in ("INVAL", "FBIG")
    c.write(fh, 150, pattern(50)).ok()
    c.commit(fh, offset, size).ok()
    assert faultd.dump("f") == pattern(100) + pattern(50) * 2


def test_commit_to_the_end_of_the_file(faultd, proxy, c):
    """A count of 0."""
    fh = make_file(c)
    for i in range(10):
        c.write(fh, i * 1000, pattern(1000, i)).ok()
    c.commit(fh, 5000, 0).ok()
    want = b"".join(pattern(1000, i) for i in range(5, 10))
    assert faultd.dump("f")[5000:] == want


def test_sizes_in_replies_of_writes_in_flight(proxy, c):
    """None ends before its own bytes do, or is smaller than one before."""
    fh = make_file(c)
    for turn in range(20):
        at = turn * 80000
        xids = {
            c.start("write", fh, at + i * 10000, pattern(10000)): at + (i + 1) * 10000
            for i in range(8)
        }
        replies = {xid: c.finish(xid).ok() for xid in xids}
        largest = 0
        for xid in [x for x in c.order if x in xids]:
            if (attr := replies[xid].wcc.after) is not None:
                assert attr.size >= max(xids[xid], largest)
                largest = attr.size
        assert c.getattr(fh).ok().attr.size == at + 80000


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
def test_overwriting_leaves_the_size(faultd, proxy, c, stable):
    size = 1 << 30
    fh = make_file(c)
    c.setattr(fh, size=size).ok()
    for at in (0, 4096, 100000):
        attr = c.write(fh, at, pattern(4096), stable).ok().wcc.after
        assert attr is None or attr.size == size
        assert c.getattr(fh).ok().attr.size == size
    attr = c.commit(fh).ok().wcc.after
    assert attr is None or attr.size == size
    assert faultd.file("f")["size"] == size


def test_overwriting_shows_in_the_times(proxy, c):
    """Another client sees by them that what it has kept is old."""
    fh = make_file(c, data=pattern(100))
    with mounted(proxy, cred=machine("other")) as other:
        for _ in range(10):
            before = other.getattr(fh).ok().attr
            c.write(fh, 0, pattern(100)).ok()
            after = other.getattr(fh).ok().attr
            assert after.size == 100
            assert (after.mtime, after.ctime) > (before.mtime, before.ctime)


def test_owner_writes_though_the_mode_forbids_it(faultd, proxy, c):
    """Programs make files of mode 0444 and write them, or take the right away later."""
    c.setattr(c.root, mode=0o777).ok()
    owner, other = machine("m", uid=1000, gid=1000), machine("m", uid=1001, gid=1001)
    fh = c.create(c.root, "f", mode=0o444, cred=owner).ok().fh
    for i in range(3):
        c.write(fh, i * 10, b"ten bytes!", cred=owner).ok()
        assert c.write(fh, i * 10, b"different!", cred=other).name == "ACCES"
    c.setattr(fh, mode=0, cred=owner).ok()
    c.commit(fh, cred=owner).ok()
    assert faultd.dump("f") == b"ten bytes!" * 3


@pytest.mark.parametrize("stable", [UNSTABLE, FILE_SYNC])
def test_bytes_pass_once(faultd, proxy, c, stable):
    """As many go upstream as come in, while all is well."""
    fh = make_file(c)
    for i in range(100):
        c.write(fh, i * 5000, pattern(5000, i), stable).ok()
    c.commit(fh).ok()
    counters = upstream_counters(proxy)
    assert counters["client_write_bytes"] == 500000
    assert counters["upstream_write_bytes"] == 500000
    assert counters["upstream_resends"] == 0


NAMES = [b"", b"n" * 255, b"n" * 256, b"n" * 2000, b".", b"..", b"a/b", b"\xff\xfe"]


@pytest.mark.parametrize("name", NAMES, ids=lambda n: f"{n[:3]!r}-{len(n)}")
def test_names_of_any_length(faultd, proxy, c, name):
    """What the upstream says of them, in every procedure that takes one."""
    with mounted(faultd) as direct:
        fh = make_file(direct, "there")
        seen = []
        for client in (c, direct):
            d = client.mkdir(client.root, f"d{len(seen)}").ok().fh
            seen.append([
                client.lookup(d, name).name,
                client.create(d, name).name,
                client.link(fh, d, name).name,
                client.rename(d, name, d, name + b"2").name,
                client.rename(d, name + b"2", d, name).name,
                client.remove(d, name).name,
                client.mkdir(d, name).name,
                client.rmdir(d, name).name,
                client.symlink(d, name, "target").name,
                client.remove(d, name).name,
                client.mknod(d, name, FIFO).name,
                client.remove(d, name).name,
            ])  # fmt: skip
        assert seen[0] == seen[1]


# ---------------------------------------------------------------- directories


@pytest.fixture(scope="module")
def big_directory():
    """(faultd, proxy) with 3000 entries in /exp/big."""
    with FaultServer() as faultd, Proxy(faultd) as proxy:
        with mounted(faultd) as direct:
            fh = direct.mkdir(direct.root, "big").ok().fh
            xids = [
                direct.start("create", fh, f"{i:04}" + "n" * (i % 60))
                for i in range(3000)
            ]
            for xid in xids:
                direct.finish(xid).ok()
        yield faultd, proxy


@pytest.mark.parametrize("plus", [False, True], ids=["readdir", "readdirplus"])
@pytest.mark.parametrize("count", [512, 4096, 1 << 20])
def test_p11_listing_with_cookies(big_directory, plus, count):
    faultd, proxy = big_directory
    with mounted(proxy) as through, mounted(faultd) as direct:
        fh = direct.lookup(direct.root, "big").ok().fh
        ours = through.list_all(fh, count, plus)
        theirs = direct.list_all(fh, count, plus)
        assert ours == theirs
        assert len(ours) == 3002


def test_p11_listing_begun_here_and_ended_there(big_directory):
    faultd, proxy = big_directory
    with mounted(proxy) as through, mounted(faultd) as direct:
        fh = direct.lookup(direct.root, "big").ok().fh
        sides, names, cookie, verf = [through, direct], [], 0, 0
        while True:
            r = sides[0].readdir(fh, cookie, verf, 8192).ok()
            sides.reverse()
            names += [e.name for e in r.entries]
            if r.eof:
                break
            cookie, verf = r.entries[-1].cookie, r.verf
        assert len(names) == len(set(names)) == 3002


def test_p11_stale_cookie_verifier(faultd, proxy, c):
    for i in range(20):
        make_file(c, f"f{i}")
    r = c.readdir(c.root, 0, 0, 300).ok()
    assert not r.eof
    faultd.cmd("cookies new")
    again = c.readdir(c.root, r.entries[-1].cookie, r.verf, 300)
    assert again.name == "BAD_COOKIE"


def test_p11_exclusive_create_then_times(faultd, proxy, c):
    """The verifier lies in the times until SETATTR; the proxy learns nothing of it."""
    fh = c.create(c.root, "x", EXCLUSIVE, b"\xff" * 8).ok().fh
    with mounted(faultd) as direct:
        assert c.getattr(fh).ok().attr == direct.getattr(fh).ok().attr
    r = c.setattr(fh, mode=0o600, atime="server", mtime=(1000, 1)).ok()
    assert r.wcc.after.mtime == (1000, 1)
    c.write(fh, 0, b"data").ok()
    assert faultd.calls("SETATTR")[-1]["status"] == 0


# ---------------------------------------------------------------- MOUNT


@pytest.fixture(scope="module")
def exporting():
    """(faultd, proxy): /exp and /exports, of which `exports` names only /exp."""
    with FaultServer("--export", "/exports", "--export", "/other/deep") as faultd:
        with Proxy(faultd) as proxy:
            with mounted(faultd) as direct:
                sub = direct.mkdir(direct.root, "sub").ok().fh
                direct.mkdir(sub, "x" * 200).ok()
                make_file(direct, "file")
            yield faultd, proxy


def mnt(client, path):
    r = client.mnt(path)
    return r.status, getattr(r, "fh", None), getattr(r, "flavors", None)


@pytest.mark.parametrize(
    "path",
    ["/exp", "/exp/", "/exp//", "/exp/sub", "/exp/sub/", "/exp//sub", "/exp/none",
     "/exp/file", "/exp/sub/" + "x" * 200, "/exp/" + "y" * 1019],
)  # fmt: skip
def test_p11_mount_paths(exporting, path):
    faultd, proxy = exporting
    with mounted(proxy) as through, mounted(faultd) as direct:
        assert mnt(through, path) == mnt(direct, path)


@pytest.mark.parametrize("path", ["//exp", "/./exp", "/exp/./sub"])
def test_p11_mount_paths_spelt_oddly(exporting, path):
    """Left to the upstream."""
    faultd, proxy = exporting
    with mounted(proxy) as through, mounted(faultd) as direct:
        assert mnt(through, path) == mnt(direct, path)


@pytest.mark.parametrize(
    "path",
    ["/exports", "/other/deep", "/ex", "/", "", "exp", "/exp/../exports", "/exp/..",
     "/exp/sub/../sub", "..", "/expsub"],
)  # fmt: skip
def test_mount_outside_of_exports_is_refused(exporting, path):
    faultd, proxy = exporting
    before = faultd.stats()["calls"]["MNT"]
    with proxy.client() as c:
        assert c.mnt(path).name == "ACCES"
    assert faultd.stats()["calls"]["MNT"] == before


@pytest.mark.parametrize("path", ["/exp/" + "y" * 1020, b"/exp\0", "/" + "z" * 5000])
def test_mount_paths_that_are_none(exporting, path):
    with exporting[1].client() as c:
        with pytest.raises(RpcError, match="garbage_args"):
            c.mnt(path)
        c.mnt("/exp").ok()


@pytest.mark.parametrize("version", [1, 3])
def test_p11_list_of_exports_is_filtered(exporting, version):
    faultd, proxy = exporting
    with proxy.client() as through, faultd.client() as direct:
        theirs = direct.export(version=version).exports
        assert [e[0] for e in theirs] == [b"/exp", b"/exports", b"/other/deep"]
        ours = through.export(version=version).exports
        assert ours == [e for e in theirs if e[0] == b"/exp"]


def test_p11_without_exports_all_can_be_mounted(exporting):
    faultd, _ = exporting
    port = free_port()
    conf = upstream_conf("a", faultd, port).replace("exports = /exp\n", "")
    with Proxy(conf=conf, port=port) as proxy:
        with proxy.client() as through, faultd.client() as direct:
            for path in ("/exp", "/exports", "/other/deep", "/nothing"):
                assert mnt(through, path) == mnt(direct, path)
            assert through.export().exports == direct.export().exports


@pytest.mark.parametrize("version", [1, 3])
def test_mount_version_1_for_old_showmount(exporting, version):
    faultd, proxy = exporting
    with proxy.client() as c:
        c.mount_null(version=version)
        c.umnt("/exp", version=version)
        c.mnt("/exp").ok()
        assert (b"tester", b"/exp") in c.dump(version=version).mounts
        c.umntall(version=version)


def test_umntall_of_one_client_does_not_forget_the_others(exporting):
    """The upstream sees one host for all clients, so this must not get there."""
    faultd, proxy = exporting
    before = faultd.stats()["calls"]["UMNTALL"]
    with proxy.client() as c:
        c.umntall()
    assert faultd.stats()["calls"]["UMNTALL"] == before


# ---------------------------------------------------------------- programs of others


def run(*argv):
    if not shutil.which(argv[0]):
        pytest.skip(f"{argv[0]} is not installed")
    r = subprocess.run(argv, capture_output=True, timeout=60)
    assert r.returncode == 0, r.stderr
    return r.stdout


def test_p11_libnfs_utilities(faultd, proxy, c, tmp_path):
    """nfs-cp in and out, nfs-ls, nfs-cat, with the library's own view of NFS."""
    port = proxy.port
    tail = f"?version=3&nfsport={port}&mountport={port}&auto-traverse-mounts=0"
    c.setattr(c.root, mode=0o777).ok()
    data = pattern(3 << 20)
    (tmp_path / "in").write_bytes(data)
    url = f"nfs://127.0.0.1/exp/copy{tail}"
    run("nfs-cp", str(tmp_path / "in"), url)
    assert faultd.dump("copy", visible=True) == data
    assert run("nfs-cat", url) == data
    run("nfs-cp", url, str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == data
    c.mkdir(c.root, "sub").ok()
    listed = run("nfs-ls", f"nfs://127.0.0.1/exp{tail}").decode()
    assert sorted(line.split()[-1] for line in listed.splitlines()) == ["copy", "sub"]

