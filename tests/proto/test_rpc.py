"""What RPC itself answers, and what happens to bytes that are no call.

A well-formed record never costs the connection, a malformed one costs only its own.
"""

import random
import struct

import pytest
from harness import FaultServer, Proxy, make_file, pattern
from nfs3_client import (
    AUTH_NONE, AUTH_SYS, MOUNT, NFS, NFSACL, Closed, Cred, Enc, RpcError, call_bytes,
    record,
)  # fmt: skip
from proto import ClientFrom, mounted, upstream_counters


@pytest.fixture(scope="module")
def server():
    with FaultServer() as faultd:
        yield faultd


@pytest.fixture(scope="module")
def proxy(server):
    """One for all: afterwards it must be alive and end with 0 (Proxy sees to it)."""
    with Proxy(server, clients="127.0.0.0/8(rw,insecure)") as daemon:
        yield daemon


@pytest.fixture
def c(proxy):
    """Still served after the test, on the same connection."""
    with mounted(proxy) as client:
        yield client
        client.getattr(client.root).ok()


def refused(c, *args, **kw):
    with pytest.raises(RpcError) as e:
        c.wait(c.send_call(*args, **kw))
    return e.value.kind, e.value.low, e.value.high, e.value.why


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "program, version, number, answer",
    [
        (100000, 2, 0, ("prog_unavail", None, None, None)),
        (100021, 4, 0, ("prog_unavail", None, None, None)),
        (0, 0, 0, ("prog_unavail", None, None, None)),
        (2**32 - 1, 1, 1, ("prog_unavail", None, None, None)),
        (NFS, 2, 0, ("prog_mismatch", 3, 3, None)),
        (NFS, 2, 1, ("prog_mismatch", 3, 3, None)),
        (NFS, 4, 0, ("prog_mismatch", 3, 3, None)),
        (NFS, 4, 1, ("prog_mismatch", 3, 3, None)),
        (NFS, 0, 0, ("prog_mismatch", 3, 3, None)),
        (MOUNT, 2, 0, ("prog_mismatch", 1, 3, None)),
        (MOUNT, 4, 1, ("prog_mismatch", 1, 3, None)),
        (NFSACL, 2, 0, ("prog_mismatch", 3, 3, None)),
        (NFS, 3, 22, ("proc_unavail", None, None, None)),
        (NFS, 3, 2**32 - 1, ("proc_unavail", None, None, None)),
        (MOUNT, 3, 6, ("proc_unavail", None, None, None)),
        (MOUNT, 1, 1, ("proc_unavail", None, None, None)),
        (NFSACL, 3, 3, ("proc_unavail", None, None, None)),
    ],
)
def test_unknown_program_version_procedure(c, program, version, number, answer):
    assert refused(c, program, version, number) == answer
    args = bytes(range(200))
    assert refused(c, program, version, number, args) == answer


def test_errors_are_counted(proxy, c):
    before = upstream_counters(proxy)["rpc_errors_sent"]
    refused(c, NFS, 4, 1)
    refused(c, 100000, 2, 0)
    assert upstream_counters(proxy)["rpc_errors_sent"] == before + 2


def test_nfs_version_4_null_as_mount_sends_it(c):
    """A mount without vers=3 asks for version 4 first and must fall back."""
    cred = Cred(flavor=AUTH_NONE)
    assert refused(c, NFS, 4, 0, cred=cred) == ("prog_mismatch", 3, 3, None)
    c.null(cred=cred)


@pytest.mark.parametrize("version", [0, 1, 3, 2**32 - 1])
def test_rpc_version(c, version):
    answer = refused(c, NFS, 3, 0, rpc_version=version)
    assert answer == ("rpc_mismatch", 2, 2, None)


BADCRED, REJECTEDCRED, BADVERF = 1, 2, 3


@pytest.mark.parametrize(
    "cred, why",
    [
        (Cred(flavor=6, body=bytes(20)), REJECTEDCRED),  # RPCSEC_GSS
        (Cred(flavor=3, body=bytes(8)), REJECTEDCRED),  # AUTH_DH
        (Cred(flavor=390003, body=b""), REJECTEDCRED),
        (Cred(flavor=2**32 - 1, body=bytes(400)), REJECTEDCRED),
        (Cred(gids=tuple(range(17))), BADCRED),
        (Cred(machine=bytes(256)), BADCRED),
        (Cred(flavor=AUTH_SYS, body=b""), BADCRED),
        (Cred(flavor=AUTH_SYS, body=bytes(19)), BADCRED),
        (Cred(flavor=AUTH_SYS, body=bytes(24)), BADCRED),  # bytes left over
        (Cred(flavor=AUTH_SYS, body=bytes(16) + b"\xff" * 4), BADCRED),
        (Cred(flavor=AUTH_SYS, body=bytes(401)), BADCRED),
        (Cred(flavor=AUTH_NONE, body=bytes(404)), BADCRED),
    ],
    ids=lambda v: str(v) if isinstance(v, int) else f"{v.flavor}-{len(v.gids)}",
)
def test_bad_credentials(c, cred, why):
    args = Enc().opaque(c.root).bytes()
    answer = refused(c, NFS, 3, 1, args, cred=cred)
    assert answer == ("auth_error", None, None, why)


def test_verifier_too_long(c):
    args = Enc().opaque(c.root).bytes()
    answer = refused(c, NFS, 3, 1, args, verf=(AUTH_NONE, bytes(404)))
    assert answer == ("auth_error", None, None, BADVERF)


def test_largest_credentials(c):
    c.getattr(c.root, cred=Cred(machine=b"m" * 255, gids=tuple(range(16)))).ok()
    c.getattr(c.root, cred=Cred(flavor=AUTH_NONE)).ok()


def handle(n):
    return Enc().opaque(b"h" * n).bytes()


WRITE_HEAD = Enc().opaque(b"h" * 32).u64(0).bytes()


@pytest.mark.parametrize(
    "number, args",
    {
        "no arguments": (1, b""),
        "handle of 0": (1, handle(0)),
        "handle of 65": (1, handle(65)),
        "handle of 4096": (1, handle(4096)),
        "handle longer than the record": (1, struct.pack(">I", 64) + bytes(60)),
        "handle of 2^32-1": (1, struct.pack(">I", 2**32 - 1)),
        "bytes left over": (1, handle(32) + bytes(4)),
        "one byte too few": (4, handle(32) + bytes(3)),
        "name without end": (3, handle(32) + struct.pack(">I", 100) + b"name"),
        "name of 2^32-1": (3, handle(32) + struct.pack(">I", 2**32 - 1)),
        "name with a zero": (3, handle(32) + Enc().opaque(b"a\0b").bytes()),
        "stable_how of 3": (7, WRITE_HEAD + struct.pack(">III", 0, 3, 0)),
        "count above data": (7, WRITE_HEAD + struct.pack(">IIII", 8, 2, 4, 0)),
        "count below data": (7, WRITE_HEAD + struct.pack(">IIII", 2, 2, 4, 0)),
        "data of 2^32-1": (7, WRITE_HEAD + struct.pack(">iII", -1, 2, 2**32 - 1)),
        "boolean of 2": (2, handle(32) + struct.pack(">I", 2) + bytes(40)),
        "createmode of 3": (8, handle(32) + Enc().opaque(b"n").u32(3).bytes()),
    }.items(),
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_garbage_arguments(c, number, args):
    if isinstance(number, str):
        number, args = args
    answer = refused(c, NFS, 3, number, args)
    assert answer == ("garbage_args", None, None, None)


@pytest.mark.parametrize("seed", range(3))
def test_random_arguments(c, seed):
    """Any answer will do, as long as each call has one."""
    rng = random.Random(seed)
    for _ in range(200):
        program, top = rng.choice([(NFS, 21), (MOUNT, 5), (NFSACL, 2)])
        args = rng.randbytes(rng.randrange(0, 300))
        if rng.random() < 0.7:
            args = Enc().opaque(c.root).bytes() + args
        xid = c.send_call(program, 3, rng.randrange(top + 1), args)
        try:
            c.wait(xid)
        except RpcError:
            pass


# ---------------------------------------------------------------- records


def fragments_of(c, sizes, name="getattr", *args):
    xid = c.start(name, *(args or (c.root,)), fragments=sizes)
    return c.finish(xid).ok()


def test_one_byte_fragments(c):
    """Each with its own mark; the reply comes in one."""
    size = len(call_bytes(NFS, 3, 1, Enc().opaque(c.root).bytes(), c.cred))
    fragments_of(c, [1] * (size - 1))


def test_two_thousand_fragments(c):
    fh = make_file(c, "fragments")
    data = pattern(3000)
    fragments_of(c, [1] * 1999, "write", fh, 0, data)
    assert c.read_file(fh) == data


def test_empty_fragments_between(c):
    fragments_of(c, [0, 4, 0, 0, 30])


def test_largest_write_in_fragments(c):
    fh = make_file(c, "large")
    data = pattern(1 << 20)
    fragments_of(c, [65536] * 15, "write", fh, 0, data)
    assert c.read_file(fh) == data


def test_reply_is_one_fragment(c):
    fh = make_file(c, "one-fragment", pattern(1 << 20))
    c.start("read", fh, 0, 1 << 20)
    got = b""
    while len(got) < 4:
        got += c.recv_raw()
    mark = struct.unpack(">I", got[:4])[0]
    assert mark & 0x80000000 and (mark & 0x7FFFFFFF) > 1 << 20
    while len(got) < 4 + (mark & 0x7FFFFFFF):
        got += c.recv_raw()


CALL = call_bytes(NFS, 3, 0)
MALFORMED = {
    "zero-length": record(b""),
    "only empty fragments": record(b"", last=False) * 5000,
    "too short for a call": record(CALL[:39]),
    "longest possible": struct.pack(">I", 0xFFFFFFFF),
    "longest possible, more to come": struct.pack(">I", 0x7FFFFFFF),
    "16 MiB": struct.pack(">I", 0x80000000 | 16 << 20),
    "second fragment too long": record(CALL, last=False) + b"\xff" * 4,
    "a reply": record(struct.pack(">6I", 1, 1, 0, 0, 0, 0) + bytes(16)),
    "message type 2": record(struct.pack(">6I", 1, 2, 2, NFS, 3, 0) + bytes(16)),
    "credential without end": record(CALL[:24] + struct.pack(">II", 1, 100) + bytes(8)),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100a5010000a10303") + bytes(100),
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "ones": b"\xff" * 1000,
}


@pytest.mark.parametrize("number, name", enumerate(MALFORMED), ids=lambda v: str(v))
def test_malformed_record_costs_its_own_connection(proxy, c, number, name):
    before = upstream_counters(proxy)["records_malformed"]
    # lines about one address are limited, so each has its own
    with ClientFrom(proxy.port, f"127.0.1.{number + 1}") as bad:
        bad.null()
        port = bad.source_port
        try:
            bad.send_raw(MALFORMED[name])
        except Closed:
            pass
        assert bad.expect_closed() == b""
    line = proxy.wait_log(f"session 127.0.1.{number + 1}:{port}")
    assert line.startswith("warn") and "malformed record: " in line
    assert upstream_counters(proxy)["records_malformed"] == before + 1


def test_malformed_after_calls_in_progress(server, proxy, c):
    """Calls that were well-formed are executed, though nobody is there to answer."""
    fh = make_file(c, "victim")
    with mounted(proxy) as bad:
        server.cmd("hold WRITE count=1")
        bad.start("write", fh, 0, b"data", 2)
        server.cmd("wait WRITE 1")
        bad.send_raw(MALFORMED["zero-length"])
        bad.expect_closed()
    c.null()
    server.cmd("release WRITE")
    assert c.read_file(fh) == b"data"


def test_malformed_lines_of_one_peer_are_limited(proxy, c):
    for _ in range(50):
        with ClientFrom(proxy.port, "127.0.2.1") as bad:
            bad.send_raw(MALFORMED["ones"])
            bad.expect_closed()
    lines = [x for x in proxy.log().splitlines() if "session 127.0.2.1:" in x]
    assert 1 <= len(lines) <= 20
