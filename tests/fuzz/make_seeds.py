#!/usr/bin/env python3
"""Writes the seed corpora of the fuzz targets: one small well-formed input, and a few that
are not quite, for each thing a target can read. The same files every time.

    tests/fuzz/make_seeds.py            writes tests/fuzz/corpus
    tests/fuzz/make_seeds.py --check    compares instead; status 1 when a seed differs
"""

import pathlib
import struct
import sys

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"


def u32(*values):
    return b"".join(struct.pack(">I", value) for value in values)


def u64(*values):
    return b"".join(struct.pack(">Q", value) for value in values)


def fixed(data):
    return data + bytes(-len(data) % 4)


def opaque(data):
    return u32(len(data)) + fixed(data)


FH = opaque(bytes(range(1, 29)))
DIROP = FH + opaque(b"name")
SATTR_FULL = u32(1, 0o644, 1, 1000, 1, 100, 1) + u64(1 << 33) + u32(2, 1, 2, 2, 3, 4)
SATTR_SPARSE = u32(0, 0, 0, 0, 1, 0)
ATTR = u32(1, 0o644, 1, 1000, 100) + u64(4096, 4096) + u32(0, 0) + u64(7, 8)
ATTR += u32(*range(6))
WCC_FULL = u32(1) + u64(5) + u32(1, 2, 3, 4) + u32(1) + ATTR
WCC_NONE = u32(0, 0)


def auth_sys(name=b"client", gids=(100, 4, 27)):
    return u32(0x5EED) + opaque(name) + u32(1000, 100, len(gids)) + u32(*gids)


def rpc_call(flavor, body, program=100003, version=3, proc=1, rpc_version=2, args=FH):
    return (
        u32(0xC0FFEE, 0, rpc_version, program, version, proc, flavor)
        + opaque(body)
        + u32(0, 0)
        + args
    )


def fragment(data, last):
    return u32(len(data) | (0x80000000 if last else 0)) + data


def fragments(record, size):
    pieces = [record[at : at + size] for at in range(0, len(record), size)]
    return b"".join(fragment(p, i == len(pieces) - 1) for i, p in enumerate(pieces))


def seeds_record():
    record = rpc_call(1, auth_sys())
    whole = bytes([255] * 8)
    bytewise = bytes([0, 1] * 4)
    return {
        "one_fragment": whole + fragment(record, True),
        "two_records": whole + fragment(record, True) * 2,
        "one_byte_fragments": bytewise + fragments(record, 1),
        "odd_fragments": bytes(range(8)) + fragments(record, 7) + fragments(record, 33),
        "empty_fragments": bytes([7, 2, 30, 9, 1, 1, 5, 250])
        + fragment(b"", False) * 3
        + fragments(record, 40)
        + fragment(record, False)
        + fragment(b"", True),
        "too_many_empty": whole + fragment(b"", False) * 17,
        "too_short": whole + fragment(bytes(39), True),
        "shortest": bytewise + fragment(bytes(40), True),
        "longest": whole + fragment(bytes(4096), True),
        "too_long": whole + u32(0x80001001),
        "sum_too_long": whole + fragment(bytes(50), False) + u32(0xFFFFFFFF),
        "cut_off": whole + fragment(record, True)[:-3],
    }


def seeds_rpc_header():
    return {
        "auth_none": rpc_call(0, b""),
        "auth_none_body": rpc_call(0, b"abcde"),
        "auth_sys": rpc_call(1, auth_sys()),
        "auth_sys_no_groups": rpc_call(1, auth_sys(b"", ())),
        "auth_sys_longest": rpc_call(1, auth_sys(b"n" * 255, range(16))),
        "auth_sys_17_groups": rpc_call(1, auth_sys(b"n", range(17))),
        "auth_sys_long_name": rpc_call(1, auth_sys(b"n" * 256)),
        "auth_sys_trailing": rpc_call(1, auth_sys() + u32(0)),
        "body_400": rpc_call(0, bytes(400)),
        "body_401": rpc_call(0, bytes(401)),
        "gss": rpc_call(6, bytes(20)),
        "verifier": u32(1, 0, 2, 100003, 3, 1, 0, 0, 6) + opaque(b"checksum!"),
        "verifier_too_long": u32(1, 0, 2, 100003, 3, 1, 0, 0, 6, 401),
        "rpc_version_3": rpc_call(0, b"", rpc_version=3),
        "reply": u32(1, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        "short": u32(1, 0, 2),
    }


def nfs_call_args():
    """(program index, version, procedure) and arguments."""
    read = FH + u64(1 << 40) + u32(4096)
    readdir = FH + u64(12) + b"verifier" + u32(4096)
    entries = u32(1, 0, 7, 4, 0, 5)
    return {
        "null": (0, 3, 0, b""),
        "getattr": (0, 3, 1, FH),
        "getattr_longest": (0, 3, 1, opaque(b"h" * 64)),
        "setattr": (0, 3, 2, FH + SATTR_FULL + u32(1, 5, 6)),
        "setattr_sparse": (0, 3, 2, FH + SATTR_SPARSE + u32(0)),
        "lookup": (0, 3, 3, DIROP),
        "access": (0, 3, 4, FH + u32(0x3F)),
        "readlink": (0, 3, 5, FH),
        "read": (0, 3, 6, read),
        "write": (0, 3, 7, FH + u64(512) + u32(5, 2) + opaque(b"bytes")),
        "write_empty": (0, 3, 7, FH + u64(0) + u32(0, 0) + opaque(b"")),
        "create": (0, 3, 8, DIROP + u32(0) + SATTR_FULL),
        "create_exclusive": (0, 3, 8, DIROP + u32(2) + b"verifier"),
        "mkdir": (0, 3, 9, DIROP + SATTR_SPARSE),
        "symlink": (0, 3, 10, DIROP + SATTR_SPARSE + opaque(b"../target")),
        "mknod_device": (0, 3, 11, DIROP + u32(3) + SATTR_SPARSE + u32(8, 1)),
        "mknod_fifo": (0, 3, 11, DIROP + u32(7) + SATTR_FULL),
        "mknod_regular": (0, 3, 11, DIROP + u32(1)),
        "remove": (0, 3, 12, DIROP),
        "rmdir": (0, 3, 13, FH + opaque(b"..")),
        "rename": (0, 3, 14, DIROP + opaque(b"other") + opaque(b"new name")),
        "link": (0, 3, 15, FH + DIROP),
        "readdir": (0, 3, 16, readdir),
        "readdirplus": (0, 3, 17, readdir + u32(65536)),
        "fsstat": (0, 3, 18, FH),
        "fsinfo": (0, 3, 19, FH),
        "pathconf": (0, 3, 20, FH),
        "commit": (0, 3, 21, read),
        "mount_v1_umnt": (1, 1, 3, opaque(b"/export")),
        "mnt": (1, 3, 1, opaque(b"/export/sub")),
        "dump": (1, 3, 2, b""),
        "export": (1, 3, 5, b""),
        "getacl": (2, 3, 1, FH + u32(15)),
        "setacl": (2, 3, 2, FH + u32(5, 2, 2) + entries + u32(0, 0)),
        "unknown_version": (0, 4, 0, b""),
        "unknown_procedure": (0, 3, 22, b""),
    }


def seeds_nfs_call():
    return {
        name: bytes([program, version, proc]) + args
        for name, (program, version, proc, args) in nfs_call_args().items()
    }


def export(path, *groups):
    names = b"".join(u32(1) + opaque(group) for group in groups)
    return u32(1) + opaque(path) + names + u32(0)


def seeds_nfs3_result():
    sizes = u32(4194304, 1048576, 4096, 4194304, 1048576, 4096, 65536)
    fsinfo = sizes + u64(1 << 62) + u32(0, 1, 27)
    exports = export(b"/a", b"10.0.0.0/8", b"host") + export(b"b") + export(b"/c/d")
    return {
        "write_ok": b"\0" + u32(0) + WCC_FULL + u32(4096, 2) + b"verifier",
        "write_ok_bare": b"\0" + u32(0) + WCC_NONE + u32(4096, 0) + b"verifier",
        "write_failure": b"\0" + u32(28) + WCC_FULL,
        "commit_ok": b"\1" + u32(0) + WCC_FULL + b"verifier",
        "commit_failure": b"\1" + u32(5) + WCC_NONE,
        "fsinfo": b"\2" + u32(0, 1) + ATTR + fsinfo,
        "fsinfo_bare": b"\2" + u32(0, 0) + fsinfo,
        "access": b"\3" + u32(0, 1) + ATTR + u32(0x3F),
        "access_failure": b"\3" + u32(70, 0),
        "mnt": b"\4" + u32(0) + FH + u32(2, 1, 390003),
        "mnt_failure": b"\4" + u32(13),
        "export": b"\5" + exports + u32(0),
        "export_empty": b"\5" + u32(0),
    }


def seeds_nfs3_attrs():
    attr, none = u32(1) + ATTR, u32(0)
    entry = u32(1) + u64(9) + opaque(b"name") + u64(10)
    listing = u32(0) + attr + b"verifier" + entry + attr + u32(1) + FH
    listing += entry + none + none + entry + attr + none + u32(0, 1)
    made = u32(0, 1) + FH + attr + WCC_FULL
    return {
        "setattr": b"\2\1" + u32(0) + WCC_FULL,
        "lookup": b"\3\1" + u32(0) + FH + attr + attr,
        "lookup_failure": b"\3\377" + u32(2) + attr,
        "access": b"\4\377" + u32(0) + attr + u32(31),
        "read": b"\6\377" + u32(0) + attr + u32(5, 1) + opaque(b"bytes"),
        "read_failure": b"\6\377" + u32(70) + none,
        "create": b"\10\4" + made,
        "create_bare": b"\10\377" + u32(0, 0) + none + WCC_NONE,
        "remove": b"\14\377" + u32(0) + WCC_FULL,
        "rename": b"\16\377" + u32(0) + WCC_FULL + WCC_FULL,
        "link": b"\17\377" + u32(17) + attr + WCC_FULL,
        "readdirplus": b"\21\377" + listing,
        "fsstat": b"\22\377" + u32(0) + attr + u64(1, 2, 3, 4, 5, 6) + none,
        "getacl": b"\27\377" + u32(0) + attr + u32(0, 0, 0, 0, 0),
        "getacl_failure": b"\27\377" + u32(5),
        "setacl": b"\30\377" + u32(0) + attr,
    }


def main():
    check = sys.argv[1:] == ["--check"]
    differing = 0
    targets = {
        "record": seeds_record(),
        "rpc_header": seeds_rpc_header(),
        "nfs_call": seeds_nfs_call(),
        "nfs3_attrs": seeds_nfs3_attrs(),
        "nfs3_result": seeds_nfs3_result(),
    }
    for target, seeds in targets.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            path = folder / name
            if not check:
                path.write_bytes(data)
            elif not path.is_file() or path.read_bytes() != data:
                print(f"{path} is not what make_seeds.py makes", file=sys.stderr)
                differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
