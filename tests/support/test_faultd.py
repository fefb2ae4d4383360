"""The fault server's protocol side, judged by a client that shares no code with it.

Run: BUILDDIR=<build folder> /usr/bin/python3 -m pytest tests/support
"""

import os
import struct
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import FaultServer, direct, faultd, make_file, pattern  # noqa: E402,F401
from nfs3_client import (  # noqa: E402
    BLK, CHR, DIR, EXCLUSIVE, FIFO, GUARDED, LNK, MOUNT, NFS, NFSACL, REG, SOCK, Cred,
    Enc, RpcError, args_write, call_bytes, only_fh, record,
)  # fmt: skip

ALICE = Cred(uid=1000, gid=1000, machine=b"alice")
BOB = Cred(uid=1001, gid=1001, gids=(7, 1000), machine=b"bob")


@pytest.fixture
def c(direct):  # noqa: F811
    return direct


# ---------------------------------------------------------------- rpc


def test_null_of_all_programs(c):
    c.null()
    c.mount_null()
    c.acl_null()
    c.call("mount_null", version=1)


@pytest.mark.parametrize(
    "program, version, number, kind, low, high",
    [
        (100099, 3, 0, "prog_unavail", None, None),
        (NFS, 2, 0, "prog_mismatch", 3, 3),
        (NFS, 4, 0, "prog_mismatch", 3, 3),
        (NFS, 3, 22, "proc_unavail", None, None),
        (MOUNT, 2, 0, "prog_mismatch", 1, 3),
        (MOUNT, 3, 6, "proc_unavail", None, None),
        (NFSACL, 2, 0, "prog_mismatch", 3, 3),
        (NFSACL, 3, 3, "proc_unavail", None, None),
    ],
)
def test_unknown_procedures(c, program, version, number, kind, low, high):
    with pytest.raises(RpcError) as e:
        c.wait(c.send_call(program, version, number))
    assert (e.value.kind, e.value.low, e.value.high) == (kind, low, high)
    c.null()


def test_rpc_version_and_credentials(c):
    with pytest.raises(RpcError) as e:
        c.wait(c.send_call(NFS, 3, 0, rpc_version=3))
    assert (e.value.kind, e.value.low, e.value.high) == ("rpc_mismatch", 2, 2)
    for bad in ({"gids": tuple(range(17))}, {"machine": b"m" * 256}, {"flavor": 6}):
        cred = Cred(**bad)
        with pytest.raises(RpcError) as e:
            c.getattr(c.root, cred=cred)
        assert (e.value.kind, e.value.why) == ("auth_error", 1)
    with pytest.raises(RpcError) as e:
        c.wait(c.send_call(NFS, 3, 0, verf=(1, b"abcd")))
    assert e.value.why == 3
    c.getattr(c.root, cred=Cred(gids=tuple(range(16)), machine=b"m" * 255)).ok()
    c.getattr(c.root, cred=Cred(flavor=0)).ok()


def test_garbage_arguments_are_counted(faultd, c):  # noqa: F811
    faultd.expect_violations = True
    fh = make_file(c)
    bad = [
        (1, only_fh(c.root) + b"\0\0\0\0"),  # left over
        (1, Enc().u32(65).fixed(bytes(65)).bytes()),  # handle too long
        (1, struct.pack(">I", 5) + b"abcde\1\0\0"),  # padding
        (7, args_write(fh, 0, b"abcd", count=5)),
        (7, args_write(fh, 0, b"abcd", stable=3)),
        (2, only_fh(fh) + struct.pack(">I", 2)),  # boolean
    ]
    for number, args in bad:
        with pytest.raises(RpcError) as e:
            c.wait(c.send_call(NFS, 3, number, args))
        assert e.value.kind == "garbage_args"
    assert faultd.stats()["violations"] == len(bad)


def test_fragments(c):
    for fragments in ([1], [0, 0, 40], [4] * 10, [1] * 50):
        assert c.getattr(c.root, fragments=fragments).ok().attr.type == DIR
    data = pattern(100000)
    fh = c.create(c.root, "frag").ok().fh
    c.write(fh, 0, data, fragments=[33333, 1, 40000]).ok()
    assert c.read_file(fh) == data


def test_many_calls_in_one_segment(c):
    calls = [record(call_bytes(NFS, 3, 1, only_fh(c.root), xid=x)) for x in range(500)]
    c.send_raw(b"".join(calls))
    for x in range(500):
        c.wait(x)
    assert c.order[-500:] == list(range(500))


def test_bytewise_segments(c):
    payload = record(call_bytes(NFS, 3, 1, only_fh(c.root), xid=77))
    for i in range(len(payload)):
        c.send_raw(payload[i : i + 1])
    c.wait(77)


@pytest.mark.parametrize("junk", [record(b""), record(b"\0\0\0\1" * 5), b"\xff" * 64])
def test_records_that_are_no_calls_close(faultd, c, junk):  # noqa: F811
    faultd.expect_violations = True
    c.send_raw(junk)
    assert c.expect_closed() == b""
    with faultd.client() as other:
        other.null()


# ---------------------------------------------------------------- mount


def test_mount_paths(c):
    sub = c.mkdir(c.root, "sub").ok().fh
    assert c.mnt("/exp/").ok().fh == c.root
    assert c.mnt("/exp/sub").ok().fh == sub
    assert c.mnt("/exp//sub/").ok().fh == sub
    assert c.mnt("/exp").flavors == [1]
    make_file(c, "file")
    assert c.mnt("/exp/none").name == "NOENT"
    assert c.mnt("/exp/file").name == "NOTDIR"
    assert c.mnt("/expo").name == "ACCES"
    assert c.mnt("/").name == "ACCES"
    assert c.mnt("/exp/" + "x" * 2000).name == "NAMETOOLONG"
    with pytest.raises(RpcError) as e:
        c.mnt("/exp", version=1)
    assert e.value.kind == "proc_unavail"


@pytest.mark.parametrize("version", [1, 3])
def test_mount_lists(c, version):
    assert c.export(version=version).exports == [(b"/exp", [])]
    c.mnt("/exp", cred=ALICE).ok()
    c.mnt("/exp", cred=ALICE).ok()
    c.mkdir(c.root, "s")
    c.mnt("/exp/s", cred=ALICE).ok()
    want = [(b"alice", b"/exp"), (b"alice", b"/exp/s")]
    got = c.dump(version=version).mounts
    assert [m for m in got if m[0] == b"alice"] == want
    c.umnt("/exp", cred=ALICE, version=version)
    assert (b"alice", b"/exp") not in c.dump().mounts
    c.umntall(cred=ALICE, version=version)
    assert b"alice" not in dict(c.dump().mounts)
    assert b"tester" in dict(c.dump().mounts)


def test_several_exports():
    with FaultServer("--export", "/exp2", "--export", "/exp2/in") as f, f.client() as c:
        assert [e[0] for e in c.export().exports] == [b"/exp", b"/exp2", b"/exp2/in"]
        roots = [c.mnt(p).ok().fh for p in ("/exp", "/exp2", "/exp2/in")]
        assert len({c.getattr(r).attr.fsid for r in roots}) == 3
        fh = c.create(roots[0], "f").ok().fh
        assert c.link(fh, roots[1], "g").name == "XDEV"
        assert c.rename(roots[0], "f", roots[1], "g").name == "XDEV"


# ---------------------------------------------------------------- attributes and names


def test_getattr_setattr(c):
    fh = make_file(c, data=b"12345")
    a = c.getattr(fh).ok().attr
    assert (a.type, a.mode, a.nlink, a.size, a.uid) == (REG, 0o666, 1, 5, 0)
    r = c.setattr(fh, mode=0o600, uid=1000, gid=8, atime=(1, 2), mtime=(3, 4)).ok()
    assert r.wcc.before == (5, a.mtime, a.ctime)
    b = r.wcc.after
    assert (b.mode, b.uid, b.gid, b.atime, b.mtime) == (0o600, 1000, 8, (1, 2), (3, 4))
    assert b.ctime > a.ctime
    assert c.getattr(fh).attr == b
    assert c.setattr(fh, guard=a.ctime, mode=0o644).name == "NOT_SYNC"
    assert c.setattr(fh, guard=b.ctime, mtime="server").ok().wcc.after.mtime > (3, 4)
    assert c.setattr(fh, size=2).ok().wcc.after.size == 2
    assert c.setattr(fh, size=6).ok().wcc.after.size == 6
    assert c.read_file(fh) == b"12\0\0\0\0"
    assert c.setattr(c.root, size=1).name == "ISDIR"
    assert c.setattr(fh, size=1 << 60).name == "FBIG"


def test_bad_and_stale_handles(c):
    fh = make_file(c)
    assert c.getattr(b"").name == "BADHANDLE"
    assert c.getattr(fh + b"1234").name == "BADHANDLE"
    assert c.getattr(fh[:-1] + bytes([fh[-1] ^ 1])).name == "BADHANDLE"
    c.remove(c.root, "f").ok()
    for r in (
        c.getattr(fh), c.setattr(fh), c.access(fh), c.read(fh, 0, 1),
        c.write(fh, 0, b"x"), c.commit(fh), c.readlink(fh), c.fsstat(fh), c.fsinfo(fh),
        c.pathconf(fh),
        c.getacl(fh), c.setacl(fh, 0), c.lookup(fh, "x"), c.readdir(fh),
    ):  # fmt: skip
        assert r.name == "STALE", r


@pytest.mark.parametrize("size", [16, 17, 31, 64])
def test_handle_sizes(size):
    with FaultServer("--handle-size", str(size)) as f, f.client() as c:
        c.root = c.mnt("/exp").ok().fh
        fh = make_file(c, "f", b"abc")
        assert len(fh) == len(c.root) == size
        entries = c.list_all(c.root, plus=True)
        assert [e.fh for e in entries if e.name == b"f"] == [fh]


def test_lookup(c):
    d = c.mkdir(c.root, "d").ok().fh
    fh = c.create(d, "f").ok().fh
    r = c.lookup(d, "f").ok()
    assert r.fh == fh and r.attr == c.getattr(fh).attr and r.dir_attr.type == DIR
    assert c.lookup(d, ".").ok().fh == d
    assert c.lookup(d, "..").ok().fh == c.root
    assert c.lookup(c.root, "..").ok().fh == c.root
    assert c.lookup(d, "no").name == "NOENT"
    assert c.lookup(d, "no").dir_attr.type == DIR
    assert c.lookup(fh, "x").name == "NOTDIR"
    assert c.lookup(d, "").name == "ACCES"
    assert c.lookup(d, "a/b").name == "ACCES"
    assert c.lookup(d, "n" * 255).name == "NOENT"
    assert c.lookup(d, "n" * 256).name == "NAMETOOLONG"


def test_permissions(c):
    fh = c.create(c.root, "a", mode=0o640, cred=ALICE).ok().fh
    a = c.getattr(fh).attr
    assert (a.uid, a.gid) == (1000, 1000)
    c.write(fh, 0, b"data", cred=ALICE).ok()
    stranger = Cred(uid=5, gid=5)
    assert c.write(fh, 0, b"no", cred=stranger).name == "ACCES"
    assert c.read(fh, 0, 9, cred=stranger).name == "ACCES"
    assert c.read(fh, 0, 9, cred=BOB).ok().data == b"data"  # by his groups
    assert c.write(fh, 0, b"no", cred=BOB).name == "ACCES"
    assert c.access(fh, cred=BOB).granted == 1
    assert c.access(fh, cred=ALICE).granted & 0xC == 0xC
    assert c.setattr(fh, mode=0o777, cred=BOB).name == "PERM"
    assert c.setattr(fh, uid=1001, cred=ALICE).name == "PERM"
    c.setattr(fh, mode=0o444, cred=ALICE).ok()
    c.write(fh, 0, b"owner", cred=ALICE).ok()  # owner override
    assert c.setattr(fh, size=0, cred=BOB).name == "ACCES"
    private = c.mkdir(c.root, "p", mode=0o700).ok().fh
    assert c.create(private, "x", cred=ALICE).name == "ACCES"
    assert c.lookup(private, "x", cred=ALICE).name == "ACCES"
    assert c.readdir(private, cred=ALICE).name == "ACCES"
    c.setattr(fh, mode=0o6755, cred=ALICE).ok()
    c.write(fh, 0, b"x", cred=ALICE).ok()
    assert c.getattr(fh).attr.mode == 0o755


def test_create_modes(c):
    fh = make_file(c, "u", b"12345")
    assert c.create(c.root, "u", mode=0o600).ok().fh == fh
    assert c.getattr(fh).attr.size == 5
    assert c.create(c.root, "u", size=0).ok().attr.size == 0
    assert c.create(c.root, "u", GUARDED, mode=0o600).name == "EXIST"
    g = c.create(c.root, "g", GUARDED, mode=0o600).ok()
    assert g.attr.mode == 0o600 and g.wcc.after == c.getattr(c.root).attr
    e = c.create(c.root, "e", EXCLUSIVE, b"12345678").ok()
    again = c.create(c.root, "e", EXCLUSIVE, b"12345678").ok()
    assert again.fh == e.fh
    assert c.create(c.root, "e", EXCLUSIVE, b"87654321").name == "EXIST"
    c.mkdir(c.root, "d").ok()
    assert c.create(c.root, "d", size=0).name == "EXIST"
    assert c.create(c.root, ".").name == "EXIST"


def test_mkdir_symlink_mknod(c):
    d = c.mkdir(c.root, "d", mode=0o750).ok()
    assert (d.attr.type, d.attr.mode, d.attr.nlink) == (DIR, 0o750, 2)
    assert c.getattr(c.root).attr.nlink == 3
    assert c.mkdir(c.root, "d").name == "EXIST"
    s = c.symlink(c.root, "s", "some/where").ok()
    assert s.attr.type == LNK and s.attr.size == 10
    assert c.readlink(s.fh).ok().target == b"some/where"
    assert c.readlink(d.fh).name == "INVAL"
    assert c.symlink(c.root, "t", "x" * 1025).name == "NAMETOOLONG"
    for type in (CHR, BLK, SOCK, FIFO):
        n = c.mknod(c.root, f"n{type}", type, (4, 5)).ok()
        assert n.attr.type == type
        assert n.attr.rdev == ((4, 5) if type in (CHR, BLK) else (0, 0))
    assert c.mknod(c.root, "x", REG).name == "BADTYPE"
    assert c.mknod(c.root, "x", CHR, cred=ALICE).name == "PERM"
    assert c.read(c.lookup(c.root, "n7").fh, 0, 1).name == "INVAL"


def test_remove_rmdir(c):
    fh = make_file(c)
    d = c.mkdir(c.root, "d").ok().fh
    c.create(d, "in").ok()
    before = c.getattr(c.root).attr
    assert c.remove(c.root, "no").name == "NOENT"
    assert c.remove(c.root, "d").name == "ISDIR"
    assert c.rmdir(c.root, "f").name == "NOTDIR"
    assert c.rmdir(c.root, "d").name == "NOTEMPTY"
    assert c.rmdir(c.root, ".").name == "INVAL"
    assert c.rmdir(c.root, "..").name == "EXIST"
    r = c.remove(c.root, "f").ok()
    assert r.wcc.before == (before.size, before.mtime, before.ctime)
    assert r.wcc.after.ctime > before.ctime
    assert c.remove(c.root, "f").name == "NOENT"  # no duplicate request cache
    c.remove(d, "in").ok()
    c.rmdir(c.root, "d").ok()
    assert c.getattr(fh).name == c.getattr(d).name == "STALE"
    assert c.getattr(c.root).attr.nlink == 2


def test_rename(c):
    a = make_file(c, "a", b"a")
    b = make_file(c, "b", b"b")
    d = c.mkdir(c.root, "d").ok().fh
    e = c.mkdir(d, "e").ok().fh
    assert c.rename(c.root, "a", c.root, "b").ok().from_wcc.after is not None
    assert c.lookup(c.root, "b").fh == a and c.getattr(b).name == "STALE"
    assert c.rename(c.root, "a", c.root, "x").name == "NOENT"
    assert c.rename(c.root, "d", e, "x").name == "INVAL"
    assert c.rename(c.root, "b", c.root, "d").name == "EXIST"
    assert c.rename(c.root, "d", c.root, "b").name == "EXIST"
    c.mkdir(c.root, "full").ok()
    assert c.rename(c.root, "full", c.root, "d").name == "NOTEMPTY"
    c.rename(d, "e", c.root, "up").ok()
    assert c.lookup(e, "..").fh == c.root
    assert (c.getattr(d).attr.nlink, c.getattr(c.root).attr.nlink) == (2, 5)
    c.link(a, c.root, "hard").ok()
    c.rename(c.root, "b", c.root, "hard").ok()  # one file: nothing happens
    assert c.lookup(c.root, "b").fh == a


def test_link(c):
    fh = make_file(c, "a", b"shared")
    d = c.mkdir(c.root, "d").ok().fh
    r = c.link(fh, d, "b").ok()
    assert r.attr.nlink == 2 and r.wcc.after == c.getattr(d).attr
    assert c.link(fh, d, "b").name == "EXIST"
    assert c.link(d, d, "x").name == "INVAL"
    c.remove(c.root, "a").ok()
    assert c.read_file(c.lookup(d, "b").ok().fh) == b"shared"


@pytest.mark.parametrize("plus", [False, True])
@pytest.mark.parametrize("count", [512, 8192])
def test_directories(faultd, c, plus, count):  # noqa: F811
    names = {f"file-{i}-{'x' * (i % 40)}".encode() for i in range(300)}
    fhs = {n: c.create(c.root, n).ok().fh for n in names}
    entries = c.list_all(c.root, count, plus)
    assert [e.name for e in entries[:2]] == [b".", b".."]
    assert len(entries) == 302 and {e.name for e in entries[2:]} == names
    for e in entries[2:] if plus else []:
        assert e.fh == fhs[e.name] and e.attr == c.getattr(e.fh).attr
        assert e.attr.fileid == e.fileid
    # cookies stay valid while others are removed
    first = c.readdir(c.root, 0, 0, 1024).ok()
    for n in [e.name for e in first.entries if e.name in names]:
        c.remove(c.root, n).ok()
    rest = c.readdir(c.root, first.entries[-1].cookie, first.verf, 1 << 20).ok()
    seen = [e.name for e in first.entries[2:]] + [e.name for e in rest.entries]
    assert sorted(seen) == sorted(names)
    bad = c.readdir(c.root, first.entries[-1].cookie, first.verf + 1)
    assert bad.name == "BAD_COOKIE"
    faultd.cmd("cookies new")
    again = c.readdir(c.root, first.entries[-1].cookie, first.verf)
    assert again.name == "BAD_COOKIE"
    assert c.readdir(c.root, 0, 0, 100).name == "TOOSMALL"
    assert c.readdirplus(c.root, 0, 0, 100, 110).name == "TOOSMALL"


@pytest.mark.parametrize("plus", [False, True])
def test_directory_replies_fit_what_was_asked(c, plus):
    for i in range(60):
        c.create(c.root, "n" * (i % 9 + 1) + str(i)).ok()
    for count in range(200, 1500, 37):
        if plus:
            xid = c.start("readdirplus", c.root, 0, 0, count, count)
        else:
            xid = c.start("readdir", c.root, 0, 0, count)
        d = c.wait(xid)
        assert len(d.data) - d.at - 4 <= count or d.u32() == 10005


def test_fs_information(c):
    s = c.fsstat(c.root).ok()
    assert s.tbytes >= s.fbytes >= s.abytes > 0
    i = c.fsinfo(c.root).ok()
    assert i.rtmax == i.wtmax == 1 << 20 and i.maxfilesize == 1 << 40
    assert c.pathconf(c.root).ok().name_max == 255


def test_acl(c):
    fh = make_file(c)
    assert c.getacl(fh).ok().access == (3, [(1, 0, 6), (4, 0, 6), (32, 0, 6)])
    entries = [(1, 0, 7), (2, 55, 5), (4, 0, 4), (16, 0, 7), (32, 0, 0)]
    assert c.setacl(fh, 3, entries, cred=ALICE).name == "PERM"
    c.setacl(fh, 3, entries).ok()
    assert c.getacl(fh).ok().access == (5, entries)
    assert c.getacl(fh, 16).name == "INVAL"
