"""Who may connect, what they may do and as whom: the rules of `clients`.

The upstream sees the proxy's address only, so these rules are what protects it. Source
addresses here are those of the loopback network; ports below 1024 need privilege.
"""

import os
import socket

import pytest
from harness import EXPORT, Proxy, free_port, make_file, upstream_conf
from nfs3_client import AUTH_NONE, FILE_SYNC, Client, Closed, Cred, RpcError
from nfs3_xdr import Enc
from proto import ClientFrom, count_of, mounted, upstream_counters

MODIFY_EXTEND_DELETE = 0x04 | 0x08 | 0x10
TOOWEAK = 5

needs_privilege = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs a source port below 1024"
)


def with_rules(faultd, rules):
    return Proxy(faultd, clients=rules)


def expect_refused(port, source):
    """The connection is closed before a single answer."""
    try:
        with ClientFrom(port, source) as c:
            c.send_call(100003, 3, 0)
            assert c.expect_closed() == b""
    except (Closed, ConnectionResetError):
        pass


# ---------------------------------------------------------------- addresses


def test_refused_at_accept(faultd):
    rules = "127.0.0.2(rw,insecure) 127.1.0.0/16(rw,insecure)"
    with with_rules(faultd, rules) as proxy:
        for source in ("127.0.0.2", "127.1.0.0", "127.1.255.255"):
            with ClientFrom(proxy.port, source) as c:
                c.mnt(EXPORT).ok()
        for source in ("127.0.0.1", "127.0.0.3", "127.2.0.1"):
            expect_refused(proxy.port, source)
        line = proxy.wait_log("session 127.0.0.1:")
        assert line.startswith("warn") and "refused" in line
        counters = upstream_counters(proxy)
        assert counters["sessions_refused"] == 3
        assert counters["sessions_accepted"] == 3
        assert count_of(faultd, "MNT") == 3


def test_first_rule_that_fits_decides(faultd):
    rules = "127.0.0.2(ro,insecure) 127.0.0.0/8(rw,insecure) 127.0.0.3(ro,insecure)"
    with with_rules(faultd, rules) as proxy:
        for source, name in (("127.0.0.2", "ROFS"), ("127.0.0.3", "OK")):
            with ClientFrom(proxy.port, source) as c:
                root = c.mnt(EXPORT).ok().fh
                assert c.mkdir(root, source).name == name


# ---------------------------------------------------------------- ro


def test_ro_refuses_what_modifies_and_nothing_else(faultd):
    with mounted(faultd) as direct:
        fh = make_file(direct, "file", b"data")
        direct.symlink(direct.root, "sym", "target").ok()
    with with_rules(faultd, "127.0.0.1(ro,insecure)") as proxy, mounted(proxy) as c:
        before = faultd.stats()["calls"]
        root = c.root
        for name, *args in (
            ("write", fh, 0, b"x", FILE_SYNC), ("create", root, "n"),
            ("mkdir", root, "n"), ("symlink", root, "n", "t"),
            ("mknod", root, "n", 7), ("remove", root, "file"), ("rmdir", root, "n"),
            ("rename", root, "file", root, "n"), ("link", fh, root, "n"),
            ("setacl", fh, 1, ((1, 0, 6),)),
        ):  # fmt: skip
            assert c.call(name, *args).name == "ROFS", name
        assert c.setattr(fh, mode=0).name == "ROFS"
        assert c.setattr(fh, size=0).name == "ROFS"
        assert faultd.stats()["calls"] == before
        assert c.read(fh, 0, 10).ok().data == b"data"
        sym = c.lookup(root, "sym").ok().fh
        assert c.readlink(sym).ok().target == b"target"
        c.commit(fh).ok()
        for name in ("getattr", "readdir", "readdirplus", "fsstat", "fsinfo",
                     "pathconf", "getacl"):  # fmt: skip
            c.call(name, root).ok()
        granted = c.access(root).ok().granted
        assert granted and not granted & MODIFY_EXTEND_DELETE
        assert upstream_counters(proxy)["calls_denied"] == 12


def test_rw_and_ro_at_the_same_time(faultd):
    rules = "127.0.0.2(ro,insecure) 127.0.0.1(rw,insecure)"
    with with_rules(faultd, rules) as proxy, mounted(proxy) as writer:
        fh = make_file(writer)
        with ClientFrom(proxy.port, "127.0.0.2") as reader:
            for i in range(5):
                writer.write(fh, 0, b"%d" % i, FILE_SYNC).ok()
                assert reader.write(fh, 0, b"x", FILE_SYNC).name == "ROFS"
                assert reader.read(fh, 0, 10).ok().data == b"%d" % i


# ---------------------------------------------------------------- secure


def test_secure_is_the_default_and_refuses_high_ports(faultd):
    with mounted(faultd) as direct:
        fh = make_file(direct, "file", b"data")
    with with_rules(faultd, "127.0.0.1") as proxy, proxy.client() as c:
        before = faultd.stats()["calls"]
        assert c.mnt(EXPORT).name == "ACCES"
        for program, number in ((100003, 1), (100003, 21), (100227, 1)):
            with pytest.raises(RpcError) as e:
                c.wait(c.send_call(program, 3, number, Enc().opaque(fh).bytes()))
            assert (e.value.kind, e.value.why) == ("auth_error", TOOWEAK)
        c.null()  # harmless, and mount programs ask it from any port
        c.mount_null()
        assert faultd.stats()["calls"] == before
        assert upstream_counters(proxy)["calls_denied"] == 4


@needs_privilege
def test_secure_accepts_ports_below_1024(faultd):
    with with_rules(faultd, "127.0.0.1(rw)") as proxy:
        with mounted(proxy, source_port="reserved") as c:
            make_file(c, "f", b"data")
        assert faultd.dump("f") == b"data"


def test_insecure_is_warned_about_at_start(faultd):
    with with_rules(faultd, "127.0.0.1(insecure)") as proxy:
        assert proxy.wait_log("insecure").startswith("warn")


@needs_privilege
def test_upstream_is_called_from_a_port_below_1024(faultd, proxy, c):
    c.getattr(c.root).ok()
    assert all(conn["port"] < 1024 for conn in faultd.conns())


# ---------------------------------------------------------------- squash

SENT = Cred(uid=0, gid=0, gids=(0, 7))
USER = Cred(uid=1000, gid=100, gids=(0, 7))
NONE = Cred(flavor=AUTH_NONE)


@pytest.mark.parametrize(
    "option, cred, seen",
    [
        ("no_root_squash", SENT, (0, 0, [0, 7])),
        ("no_root_squash", USER, (1000, 100, [0, 7])),
        ("root_squash", SENT, (65534, 65534, [65534, 7])),
        ("root_squash", USER, (1000, 100, [65534, 7])),
        ("all_squash", SENT, (65534, 65534, [])),
        ("all_squash", USER, (65534, 65534, [])),
        ("rw", SENT, (0, 0, [0, 7])),
    ],
)
def test_p6_squash(faultd, option, cred, seen):
    """In every call: also in the COMMIT that proves a stable WRITE."""
    with mounted(faultd) as direct:
        fh = make_file(direct)
    faultd.cmd("downgrade on")
    faultd.cmd("calls clear")
    with with_rules(faultd, f"127.0.0.1({option},insecure)") as proxy:
        with proxy.client(cred=cred) as c:
            c.mnt(EXPORT).ok()
            c.getattr(fh).ok()
            c.write(fh, 0, b"x", FILE_SYNC).ok()
            c.setattr(fh, size=10).ok()
            c.getacl(fh).ok()
            c.commit(fh).ok()
    procs = set()
    for call in faultd.calls():
        if call["proc"] != "NULL":
            procs.add(call["proc"])
            assert (call["uid"], call["gid"], call["gids"]) == seen, call
            assert call["machine"] == "tester"
    assert procs >= {"MNT", "GETATTR", "WRITE", "SETATTR", "GETACL", "COMMIT"}


def test_p6_auth_none_stays_auth_none(faultd):
    with with_rules(faultd, "127.0.0.1(all_squash,insecure)") as proxy:
        with mounted(proxy, cred=NONE) as c:
            c.getattr(c.root).ok()
        assert faultd.calls("GETATTR")[-1]["flavor"] == AUTH_NONE


def test_squash_follows_the_connection(faultd):
    """One machine name, two addresses with different rules."""
    rules = "127.0.0.2(rw,insecure,root_squash) 127.0.0.1(rw,insecure)"
    with with_rules(faultd, rules) as proxy:
        for source, uid in (("127.0.0.2", 65534), ("127.0.0.1", 0)):
            with ClientFrom(proxy.port, source) as c:
                c.getattr(c.mnt(EXPORT).ok().fh).ok()
                assert faultd.calls("GETATTR")[-1]["uid"] == uid


# ---------------------------------------------------------------- IPv6


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="no ::1 here")


@needs_ipv6
def test_ipv6_listener(faultd):
    port = free_port()
    conf = upstream_conf("a", faultd, port, host="[::1]", clients="::1(rw,insecure)")
    with Proxy(conf=conf, port=port) as proxy:
        with Client(port, host="::1") as c:
            c.root = c.mnt(EXPORT).ok().fh
            make_file(c, "six", b"data")
        assert faultd.dump("six") == b"data"
        with pytest.raises(ConnectionRefusedError):
            proxy.client()


@needs_ipv6
def test_ipv6_address_is_refused_by_rules_for_others(faultd):
    port = free_port()
    conf = upstream_conf("a", faultd, port, host="[::1]", clients="2001:db8::/32(rw)")
    with Proxy(conf=conf, port=port) as proxy:
        with Client(port, host="::1") as c:
            assert c.expect_closed() == b""
        proxy.wait_log("session [::1]:")


@needs_ipv6
def test_ipv4_rules_hold_on_a_dual_stack_listener(faultd):
    port = free_port()
    rules = "127.0.0.2(rw,insecure)"
    conf = upstream_conf("a", faultd, port, host="[::]", clients=rules)
    conf = conf.replace(f"listen = [::]:{port}", f"listen = [::]:{port} 0.0.0.0:{port}")
    with Proxy(conf=conf, port=port):
        with ClientFrom(port, "127.0.0.2") as c:
            c.mnt(EXPORT).ok()
        expect_refused(port, "127.0.0.1")
