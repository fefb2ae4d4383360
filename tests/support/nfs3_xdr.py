"""XDR of NFSv3, MOUNT and NFSACL for tests: encodes arguments, decodes replies.

Padding, booleans, lengths and unknown statuses are checked; what is left over after a
reply is found by Dec.done(). ARGS, RESULTS and PROCS know every procedure by a name in
small letters; names of MOUNT and NFSACL do not collide with those of NFS.
"""

import dataclasses
import struct
import types

NFS, MOUNT, NFSACL = 100003, 100005, 100227
AUTH_NONE, AUTH_SYS = 0, 1
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2
UNCHECKED, GUARDED, EXCLUSIVE = 0, 1, 2
REG, DIR, BLK, CHR, LNK, SOCK, FIFO = 1, 2, 3, 4, 5, 6, 7

STATUS = {
    0: "OK", 1: "PERM", 2: "NOENT", 5: "IO", 6: "NXIO", 13: "ACCES", 17: "EXIST",
    18: "XDEV", 19: "NODEV", 20: "NOTDIR", 21: "ISDIR", 22: "INVAL", 27: "FBIG",
    28: "NOSPC", 30: "ROFS", 31: "MLINK", 63: "NAMETOOLONG", 66: "NOTEMPTY",
    69: "DQUOT", 70: "STALE", 71: "REMOTE", 10001: "BADHANDLE", 10002: "NOT_SYNC",
    10003: "BAD_COOKIE", 10004: "NOTSUPP", 10005: "TOOSMALL", 10006: "SERVERFAULT",
    10007: "BADTYPE", 10008: "JUKEBOX",
}  # fmt: skip

NFS_PROCS = (
    "null getattr setattr lookup access readlink read write create mkdir symlink mknod "
    "remove rmdir rename link readdir readdirplus fsstat fsinfo pathconf commit"
).split()
MOUNT_PROCS = "mount_null mnt dump umnt umntall export".split()
ACL_PROCS = "acl_null getacl setacl".split()


class ProtocolError(Exception):
    """What came does not follow the protocol."""


class StatusError(Exception):
    """A procedure answered with an error status."""


class RpcError(Exception):
    """An RPC-level refusal. kind: prog_unavail, prog_mismatch, proc_unavail,
    garbage_args, system_err, rpc_mismatch, auth_error; low and high: versions;
    why: the auth_stat."""

    def __init__(self, kind, low=None, high=None, why=None):
        super().__init__(f"{kind} low={low} high={high} why={why}")
        self.kind, self.low, self.high, self.why = kind, low, high, why


class Enc:
    """XDR encoder."""

    def __init__(self):
        self.parts = []

    def u32(self, v):
        self.parts.append(struct.pack(">I", v & 0xFFFFFFFF))
        return self

    def u64(self, v):
        self.parts.append(struct.pack(">Q", v & 0xFFFFFFFFFFFFFFFF))
        return self

    def fixed(self, b):
        self.parts += [b, bytes(-len(b) % 4)]
        return self

    def opaque(self, b):
        b = b.encode("utf-8", "surrogateescape") if isinstance(b, str) else b
        return self.u32(len(b)).fixed(b)

    def bytes(self):
        return b"".join(self.parts)


class Dec:
    """XDR decoder; raises ProtocolError for anything a strict reader would refuse."""

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise ProtocolError(f"{n} bytes wanted, {len(self.data) - self.at} left")
        self.at += n
        return self.data[self.at - n : self.at]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.take(8))[0]

    def bool(self):
        v = self.u32()
        if v > 1:
            raise ProtocolError(f"boolean {v}")
        return v == 1

    def fixed(self, n):
        b = bytes(self.take(n))
        if any(self.take(-n % 4)):
            raise ProtocolError("padding is not zero")
        return b

    def opaque(self, limit=1 << 31):
        n = self.u32()
        if n > limit:
            raise ProtocolError(f"length {n} over {limit}")
        return self.fixed(n)

    def done(self):
        if self.at != len(self.data):
            raise ProtocolError(f"{len(self.data) - self.at} bytes left over")


@dataclasses.dataclass
class Cred:
    """AUTH_SYS unless flavor says otherwise; body overrides everything for bad ones."""

    uid: int = 0
    gid: int = 0
    gids: tuple = ()
    machine: bytes = b"tester"
    flavor: int = AUTH_SYS
    stamp: int = 0
    body: bytes = None

    def encode(self, enc):
        body = self.body
        if body is None and self.flavor == AUTH_SYS:
            e = Enc().u32(self.stamp).opaque(self.machine).u32(self.uid).u32(self.gid)
            e.u32(len(self.gids))
            for g in self.gids:
                e.u32(g)
            body = e.bytes()
        enc.u32(self.flavor).opaque(body or b"")


class Result:
    """A decoded reply: status plus whatever the procedure returns, as attributes."""

    def __init__(self, proc, status, **fields):
        self.proc, self.status = proc, status
        self.__dict__.update(fields)

    def ok(self):
        if self.status:
            raise StatusError(f"{self.proc}: {self.name}")
        return self

    @property
    def name(self):
        return STATUS.get(self.status, str(self.status))

    def __repr__(self):
        rest = {k: v for k, v in self.__dict__.items() if k not in ("proc", "status")}
        return f"<{self.proc} {self.name} {rest}>"


@dataclasses.dataclass(frozen=True)
class Attr:
    """fattr3; times are (seconds, nanoseconds)."""

    type: int
    mode: int
    nlink: int
    uid: int
    gid: int
    size: int
    used: int
    rdev: tuple
    fsid: int
    fileid: int
    atime: tuple
    mtime: tuple
    ctime: tuple


@dataclasses.dataclass(frozen=True)
class Wcc:
    """before: (size, mtime, ctime) or None; after: Attr or None."""

    before: tuple
    after: Attr


# ---------------------------------------------------------------- pieces of replies


def dec_time(d):
    return (d.u32(), d.u32())


def dec_attr(d):
    return Attr(
        d.u32(), d.u32(), d.u32(), d.u32(), d.u32(), d.u64(), d.u64(),
        (d.u32(), d.u32()), d.u64(), d.u64(), dec_time(d), dec_time(d), dec_time(d),
    )  # fmt: skip


def dec_post(d):
    return dec_attr(d) if d.bool() else None


def dec_wcc(d):
    before = (d.u64(), dec_time(d), dec_time(d)) if d.bool() else None
    return Wcc(before, dec_post(d))


def dec_fh(d):
    return d.opaque(64)


def dec_post_fh(d):
    return dec_fh(d) if d.bool() else None


def dec_list(d, one):
    out = []
    while d.bool():
        out.append(one(d))
    return out


def sattr(mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
    """sattr3; a time is None, "server" or (seconds, nanoseconds)."""
    e = Enc()
    for v in (mode, uid, gid):
        e.u32(v is not None)
        if v is not None:
            e.u32(v)
    e.u32(size is not None)
    if size is not None:
        e.u64(size)
    for t in (atime, mtime):
        e.u32(0 if t is None else 1 if t == "server" else 2)
        if t is not None and t != "server":
            e.u32(t[0]).u32(t[1])
    return e.bytes()


# ---------------------------------------------------------------- arguments

DEFAULT_SATTR = {"mode": 0o644}


def diropargs(fh, name):
    return Enc().opaque(fh).opaque(name)


def args_setattr(fh, guard=None, **attrs):
    e = Enc().opaque(fh)
    e.parts.append(sattr(**attrs))
    e.u32(guard is not None)
    if guard is not None:
        e.u32(guard[0]).u32(guard[1])
    return e.bytes()


def args_write(fh, offset, data, stable=UNSTABLE, count=None):
    count = len(data) if count is None else count
    return Enc().opaque(fh).u64(offset).u32(count).u32(stable).opaque(data).bytes()


def args_create(fh, name, how=UNCHECKED, verf=None, **attrs):
    e = diropargs(fh, name).u32(how)
    if how == EXCLUSIVE:
        e.fixed(verf or b"verifier")
    else:
        e.parts.append(sattr(**(attrs or DEFAULT_SATTR)))
    return e.bytes()


def args_mkdir(fh, name, **attrs):
    e = diropargs(fh, name)
    e.parts.append(sattr(**(attrs or {"mode": 0o755})))
    return e.bytes()


def args_symlink(fh, name, target, **attrs):
    e = diropargs(fh, name)
    e.parts.append(sattr(**(attrs or {"mode": 0o777})))
    return e.opaque(target).bytes()


def args_mknod(fh, name, type, rdev=(0, 0), **attrs):
    e = diropargs(fh, name).u32(type)
    if type in (CHR, BLK, SOCK, FIFO):
        e.parts.append(sattr(**(attrs or DEFAULT_SATTR)))
    if type in (CHR, BLK):
        e.u32(rdev[0]).u32(rdev[1])
    return e.bytes()


def args_readdir(fh, cookie=0, verf=0, count=8192):
    return Enc().opaque(fh).u64(cookie).u64(verf).u32(count).bytes()


def args_readdirplus(fh, cookie=0, verf=0, dircount=8192, maxcount=32768):
    return Enc().opaque(fh).u64(cookie).u64(verf).u32(dircount).u32(maxcount).bytes()


def enc_acl(e, entries):
    e.u32(len(entries)).u32(len(entries))
    for entry in entries:
        for v in entry:
            e.u32(v)


def args_setacl(fh, mask, access=(), default=()):
    e = Enc().opaque(fh).u32(mask)
    enc_acl(e, access)
    enc_acl(e, default)
    return e.bytes()


def only_fh(fh):
    return Enc().opaque(fh).bytes()


ARGS = {
    "null": lambda: b"",
    "getattr": only_fh,
    "setattr": args_setattr,
    "lookup": lambda fh, name: diropargs(fh, name).bytes(),
    "access": lambda fh, bits=0x3F: Enc().opaque(fh).u32(bits).bytes(),
    "readlink": only_fh,
    "read": lambda fh, off, count: Enc().opaque(fh).u64(off).u32(count).bytes(),
    "write": args_write,
    "create": args_create,
    "mkdir": args_mkdir,
    "symlink": args_symlink,
    "mknod": args_mknod,
    "remove": lambda fh, name: diropargs(fh, name).bytes(),
    "rmdir": lambda fh, name: diropargs(fh, name).bytes(),
    "rename": lambda f, n, t, m: diropargs(f, n).bytes() + diropargs(t, m).bytes(),
    "link": lambda fh, dir, name: only_fh(fh) + diropargs(dir, name).bytes(),
    "readdir": args_readdir,
    "readdirplus": args_readdirplus,
    "fsstat": only_fh,
    "fsinfo": only_fh,
    "pathconf": only_fh,
    "commit": lambda fh, off=0, count=0: Enc().opaque(fh).u64(off).u32(count).bytes(),
    "mount_null": lambda: b"",
    "mnt": lambda path: Enc().opaque(path).bytes(),
    "dump": lambda: b"",
    "umnt": lambda path: Enc().opaque(path).bytes(),
    "umntall": lambda: b"",
    "export": lambda: b"",
    "acl_null": lambda: b"",
    "getacl": lambda fh, mask=15: Enc().opaque(fh).u32(mask).bytes(),
    "setacl": args_setacl,
}

# ---------------------------------------------------------------- results


def res_void(d):
    return {"status": 0}


def res_status(success, failure=lambda d: {}):
    """A union by status: one decoder for success, one for every failure."""

    def decode(d):
        status = d.u32()
        if status and status not in STATUS:
            raise ProtocolError(f"status {status}")
        return {"status": status, **(failure if status else success)(d)}

    return decode


def both(decode):
    return res_status(decode, decode)


def only_attr(d):
    return {"attr": dec_post(d)}


def attr_then(more):
    """post_op_attr in both arms, the rest only in success."""
    return res_status(lambda d: {**only_attr(d), **more(d)}, only_attr)


def only_wcc(d):
    return {"wcc": dec_wcc(d)}


def dec_lookup(d):
    return {"fh": dec_fh(d), "attr": dec_post(d), "dir_attr": dec_post(d)}


def dec_read(d):
    count, eof = d.u32(), d.bool()
    data = d.opaque()
    if len(data) != count:
        raise ProtocolError(f"READ count {count} but {len(data)} bytes")
    return {"count": count, "eof": eof, "data": data}


def dec_write(d):
    out = {"wcc": dec_wcc(d), "count": d.u32(), "committed": d.u32()}
    out["verf"] = d.fixed(8)
    if out["committed"] > FILE_SYNC:
        raise ProtocolError(f"committed {out['committed']}")
    return out


def dec_made(d):
    return {"fh": dec_post_fh(d), "attr": dec_post(d), "wcc": dec_wcc(d)}


def dec_rename(d):
    return {"from_wcc": dec_wcc(d), "to_wcc": dec_wcc(d)}


def dec_link(d):
    return {"attr": dec_post(d), "wcc": dec_wcc(d)}


def dec_entry(d):
    return types.SimpleNamespace(fileid=d.u64(), name=d.opaque(), cookie=d.u64())


def dec_entry_plus(d):
    e = dec_entry(d)
    e.attr, e.fh = dec_post(d), dec_post_fh(d)
    return e


def dec_listing(one):
    return lambda d: {"verf": d.u64(), "entries": dec_list(d, one), "eof": d.bool()}


def dec_fields(names):
    """"name:4 name:8 name:t": words, long words, times."""
    kinds = {"4": Dec.u32, "8": Dec.u64, "b": Dec.bool, "t": dec_time}
    pairs = [n.split(":") for n in names.split()]
    return lambda d: {n: kinds[k](d) for n, k in pairs}


def dec_mnt(d):
    return {"fh": dec_fh(d), "flavors": [d.u32() for _ in range(d.u32())]}


def dec_export(d):
    return (d.opaque(1024), dec_list(d, lambda g: g.opaque(255)))


def dec_acl(d):
    count, n = d.u32(), d.u32()
    return count, [(d.u32(), d.u32(), d.u32()) for _ in range(n)]


def dec_getacl(d):
    mask = d.u32()
    return {"mask": mask, "access": dec_acl(d), "default": dec_acl(d)}


FSSTAT = "tbytes:8 fbytes:8 abytes:8 tfiles:8 ffiles:8 afiles:8 invarsec:4"
FSINFO = (
    "rtmax:4 rtpref:4 rtmult:4 wtmax:4 wtpref:4 wtmult:4 dtpref:4 maxfilesize:8 "
    "time_delta:t properties:4"
)
PATHCONF = (
    "linkmax:4 name_max:4 no_trunc:b chown_restricted:b case_insensitive:b "
    "case_preserving:b"
)

RESULTS = {
    "null": res_void,
    "getattr": res_status(lambda d: {"attr": dec_attr(d)}),
    "setattr": both(only_wcc),
    "lookup": res_status(dec_lookup, lambda d: {"dir_attr": dec_post(d)}),
    "access": attr_then(lambda d: {"granted": d.u32()}),
    "readlink": attr_then(lambda d: {"target": d.opaque()}),
    "read": attr_then(dec_read),
    "write": res_status(dec_write, only_wcc),
    "create": res_status(dec_made, only_wcc),
    "mkdir": res_status(dec_made, only_wcc),
    "symlink": res_status(dec_made, only_wcc),
    "mknod": res_status(dec_made, only_wcc),
    "remove": both(only_wcc),
    "rmdir": both(only_wcc),
    "rename": both(dec_rename),
    "link": both(dec_link),
    "readdir": attr_then(dec_listing(dec_entry)),
    "readdirplus": attr_then(dec_listing(dec_entry_plus)),
    "fsstat": attr_then(dec_fields(FSSTAT)),
    "fsinfo": attr_then(dec_fields(FSINFO)),
    "pathconf": attr_then(dec_fields(PATHCONF)),
    "commit": res_status(lambda d: {"wcc": dec_wcc(d), "verf": d.fixed(8)}, only_wcc),
    "mount_null": res_void,
    "mnt": res_status(dec_mnt),
    "dump": lambda d: {
        "status": 0,
        "mounts": dec_list(d, lambda m: (m.opaque(255), m.opaque(1024))),
    },
    "umnt": res_void,
    "umntall": res_void,
    "export": lambda d: {"status": 0, "exports": dec_list(d, dec_export)},
    "acl_null": res_void,
    "getacl": attr_then(dec_getacl),
    "setacl": both(only_attr),
}

PROCS = {}
for _program, _version, _names in (
    (NFS, 3, NFS_PROCS), (MOUNT, 3, MOUNT_PROCS), (NFSACL, 3, ACL_PROCS),
):  # fmt: skip
    for _number, _name in enumerate(_names):
        PROCS[_name] = (_program, _version, _number)
