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
from proto import REPLY_HEADER, mounted, reply
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
    ("write", lambda c: (c.file, 7, b"123", UNSTABLE), {}),
    ("write", lambda c: (c.file, 7, b"", UNSTABLE), {}),
    ("write", lambda c: (c.dir, 0, b"data"), {}),
    ("write", lambda c: (c.file, 2**64 - 2, b"data", FILE_SYNC), {}),
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


def test_p11_short_results_are_passed_on(faultd, proxy, c):
    fh = make_file(c, data=pattern(100))
    faultd.cmd("short READ 10 1")
    r = c.read(fh, 0, 100).ok()
    assert (r.count, r.eof) == (10, False)
    faultd.cmd("short WRITE 10 1")
    assert c.write(fh, 0, bytes(100)).ok().count == 10


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

