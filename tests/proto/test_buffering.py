"""WRITEs acked early: what clients may rely on while the upstream does not have them yet.

P1 to P6 and I1 to I11 as doc/semantics.md has them. `patient` (conftest.py) is a proxy that
sends acked bytes when somebody wants them.
"""

import random

import pytest
from harness import (
    FaultServer, Proxy, free_port, make_file, pattern, upstream_conf, wait_until,
)  # fmt: skip
from nfs3_client import FILE_SYNC, UNSTABLE, Cred
from proto import (
    PATIENT, count_of, machine, mounted, open_file, proxy_with, upstream_counters,
)  # fmt: skip


def acked_early(proxy):
    return upstream_counters(proxy)["writes_acked_early"]


def dirty(proxy):
    return upstream_counters(proxy)["dirty_bytes"]


def write_calls(faultd):
    return [(w["offset"], w["count"]) for w in faultd.calls("WRITE")]


# ---------------------------------------------------------------- acks


def test_acked_while_the_upstream_holds_writes(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    faultd.cmd("hold WRITE")
    for i in range(10):
        r = c.write(fh, i * 1000, pattern(1000, i)).ok()
        assert (r.count, r.committed) == (1000, UNSTABLE)
    assert acked_early(proxy) == 10
    assert count_of(faultd, "WRITE") == 1
    faultd.cmd("release WRITE")
    c.commit(fh).ok()
    assert faultd.dump("f") == b"".join(pattern(1000, i) for i in range(10))


def test_first_write_of_a_file_is_not_acked_early(faultd, patient):
    """Nobody knows whether this user may write it."""
    proxy, c = patient
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xid = c.start("write", fh, 0, b"data")
    faultd.cmd("wait WRITE 1")
    c.null()
    assert xid not in c.arrived
    faultd.cmd("release WRITE")
    c.finish(xid).ok()
    assert acked_early(proxy) == 0
    c.write(fh, 4, b"more").ok()
    assert acked_early(proxy) == 1


def test_small_writes_are_gathered(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    data = pattern(4 << 20)
    for at in range(0, len(data), 4096 * 64):
        xids = [
            c.start("write", fh, at + i * 4096, data[at + i * 4096 :][:4096])
            for i in range(64)
        ]
        for xid in xids:
            c.finish(xid).ok()
    c.commit(fh).ok()
    assert faultd.dump("f") == data
    counters = upstream_counters(proxy)
    assert counters["client_writes"] == 1025
    assert counters["upstream_writes"] < 1025 / 50
    assert counters["upstream_write_bytes"] == len(data) + 1


def test_gathered_in_any_order_and_written_twice(faultd, patient):
    proxy, c = patient
    fh = open_file(c, data=bytes(100))
    want = bytearray(64 * 512)
    order = list(range(64)) * 2
    random.Random(1).shuffle(order)
    for n, i in enumerate(order):
        data = pattern(512, n)
        want[i * 512 : (i + 1) * 512] = data
        c.write(fh, i * 512, data).ok()
    c.commit(fh).ok()
    assert faultd.dump("f") == bytes(want)
    assert write_calls(faultd)[1:] == [(0, 64 * 512)]


def test_acked_bytes_are_sent_without_being_asked_for(faultd):
    with proxy_with(faultd, plug_max="5ms") as proxy, mounted(proxy) as c:
        fh = open_file(c)
        c.write(fh, 1, b"data").ok()
        faultd.cmd("wait calls WRITE 2")
        wait_until(lambda: dirty(proxy) == 0, what="no dirty bytes")
        assert faultd.dump("f", visible=True) == b"xdata"
        reasons = upstream_counters(proxy)["upstream_write_reasons"]
        assert reasons["plug_expired"] == 1


def test_written_bytes_are_committed_without_being_asked_for(faultd):
    with proxy_with(faultd, retained_expire="50ms") as proxy, mounted(proxy) as c:
        fh = open_file(c)
        c.write(fh, 1, b"data").ok()
        faultd.cmd("wait calls COMMIT 1")
        wait_until(
            lambda: upstream_counters(proxy)["retained_bytes"] == 0,
            what="nothing retained",
        )
        assert faultd.dump("f") == b"xdata"
        c.commit(fh).ok()
        assert count_of(faultd, "COMMIT") == 1


def test_p8_acks_stop_at_the_limit_and_go_on(faultd):
    """More than dirty_bytes: WRITEs wait for the upstream, nothing is lost."""
    keys = {"dirty_bytes": "1M", "dirty_background_bytes": "512K"}
    with proxy_with(faultd, **keys) as proxy, mounted(proxy) as c:
        fh = open_file(c)
        faultd.cmd("hold WRITE")
        data = pattern(65536)
        xids = [c.start("write", fh, i * 65536, data) for i in range(32)]
        for xid in xids[:16]:
            c.finish(xid).ok()
        c.null()
        waiting = [xid for xid in xids[16:] if xid not in c.arrived]
        assert waiting
        assert dirty(proxy) <= 1 << 20
        faultd.cmd("release WRITE")
        for xid in xids[16:]:
            c.finish(xid).ok()
        c.commit(fh).ok()
        assert faultd.dump("f") == data * 32


def test_p8_stream_larger_than_memory_without_a_commit(faultd):
    """The proxy commits by itself to get its memory back."""
    port = free_port()
    conf = "[nfsgather]\nmemory = 64M\n" + upstream_conf("default", faultd, port)
    with Proxy(conf=conf, port=port) as proxy, mounted(proxy) as c:
        fh = open_file(c)
        data, xids = pattern(1 << 20), []
        for i in range(128):
            xids.append(c.start("write", fh, i << 20, data))
            if len(xids) == 16:
                c.finish(xids.pop(0)).ok()
        for xid in xids:
            c.finish(xid).ok()
        memory = proxy.counters()["memory"]
        assert memory["buffers_bytes"] <= memory["limit_bytes"] == 64 << 20
        assert upstream_counters(proxy)["upstream_commit_reasons"]["memory"] > 0
        c.commit(fh).ok()
        assert faultd.dump("f") == data * 128


def test_server_that_is_away_is_no_reason_to_wait(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    faultd.cmd("refuse")
    faultd.cmd("close all reset")
    c.write(fh, 0, b"meanwhile").ok()
    commit = c.start("commit", fh)
    c.null()
    assert commit not in c.arrived
    faultd.cmd("listen")
    c.finish(commit).ok()
    assert faultd.dump("f") == b"meanwhile"


# ---------------------------------------------------------------- P1, I11: COMMIT


def test_p1_commit_is_answered_after_the_upstreams(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("hold WRITE")
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    faultd.cmd("wait WRITE 1")
    c.null()
    assert commit not in c.arrived and count_of(faultd, "COMMIT") == 0
    faultd.cmd("release WRITE")
    faultd.cmd("wait COMMIT 1")
    c.null()
    assert commit not in c.arrived
    faultd.cmd("release COMMIT")
    assert c.finish(commit).ok().verf == verf
    assert faultd.dump("f") == b"data"


def test_i5_later_writes_do_not_delay_a_commit(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"first").ok()
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    faultd.cmd("hold WRITE")
    for i in range(5):
        c.write(fh, 0, b"%05d" % i).ok()
    faultd.cmd("release COMMIT")
    c.finish(commit).ok()
    assert faultd.dump("f") == b"first"
    faultd.cmd("release WRITE")
    c.commit(fh).ok()
    assert faultd.dump("f") == b"00004"


def test_i11_commit_with_nothing_new_goes_nowhere(faultd, proxy, c):
    fh = open_file(c)
    unknown = make_file(c, "unknown")
    c.commit(fh).ok()  # written FILE_SYNC
    assert count_of(faultd, "COMMIT") == 0
    c.write(fh, 0, b"data").ok()
    for _ in range(3):
        c.commit(fh).ok()
    assert count_of(faultd, "COMMIT") == 1
    for name in ("STALE", "OK"):
        if name != "OK":
            faultd.cmd(f"error COMMIT {name} 1")
        assert c.commit(unknown).name == name
    assert count_of(faultd, "COMMIT") == 3


def test_i3_reboot_between_ack_and_commit(faultd, patient):
    """Some bytes were written before, some not: all of them are there after."""
    proxy, c = patient
    fh = open_file(c)
    verf = c.write(fh, 0, pattern(5000, 1)).ok().verf
    c.getattr(fh).ok()
    assert c.write(fh, 3000, pattern(5000, 2)).ok().verf == verf
    faultd.cmd("reboot")
    assert c.write(fh, 7000, pattern(5000, 3)).ok().verf == verf
    assert c.commit(fh).ok().verf == verf
    want = pattern(5000, 1)[:3000] + pattern(5000, 2)[:4000] + pattern(5000, 3)
    assert faultd.dump("f") == want
    counters = upstream_counters(proxy)
    assert counters["verifier_rotations"] == 0
    assert counters["replayed_bytes"] >= 5000


def test_i9_replay_does_not_put_older_bytes_over_stable_ones(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"older bytes").ok()
    c.getattr(fh).ok()
    c.write(fh, 6, b"BYTES", FILE_SYNC).ok()
    faultd.cmd("reboot")
    c.commit(fh).ok()
    assert faultd.dump("f") == b"older BYTES"


# ---------------------------------------------------------------- P5: read your writes


@pytest.mark.parametrize("stage", ["dirty", "on their way", "written"])
def test_p5_read_returns_acked_bytes(faultd, patient, stage):
    proxy, c = patient
    fh = open_file(c, data=b"." * 100)
    c.write(fh, 50, b"new" * 100).ok()
    if stage == "on their way":
        faultd.cmd("delay WRITE 30")
        c.start("commit", fh)
        faultd.cmd("wait calls WRITE 2")
    elif stage == "written":
        c.commit(fh).ok()
    r = c.read(fh, 0, 1000).ok()
    assert r.data == b"." * 50 + b"new" * 100
    assert r.eof
    assert r.attr.size == 350


@pytest.mark.parametrize("how", ["", "quiet"])
def test_p5_read_after_a_reboot(faultd, patient, how):
    """What was written and lost with the reboot is read all the same. A server that loses
    it without closing connections (quiet) is found out at the next COMMIT only."""
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"acked").ok()
    assert c.read(fh, 0, 10).ok().data == b"acked"
    faultd.cmd(f"reboot {how}")
    if how == "quiet":
        c.commit(fh).ok()
    assert c.read(fh, 0, 10).ok().data == b"acked"
    assert c.getattr(fh).ok().attr.size == 5


def test_p5_sizes_never_shrink(faultd, proxy, c):
    """GETATTR, READ and WRITE replies with attributes, all in flight together."""
    fh = open_file(c, data=b"0")
    end = 1
    for turn in range(30):
        calls = []
        for i in range(8):
            calls.append((end, c.start("getattr", fh)))
            data = pattern(random.Random(turn * 8 + i).randrange(1, 9000))
            c.finish(c.start("write", fh, end, data)).ok()
            end += len(data)
            calls.append((end, c.start("getattr", fh)))
            calls.append((end, c.start("read", fh, end - 1, 10)))
        for least, xid in calls:
            r = c.finish(xid).ok()
            assert r.attr.size >= least
            if r.proc == "read":
                assert r.count >= 1
    c.commit(fh).ok()


@pytest.mark.parametrize("proc", ["lookup", "access", "readdirplus", "fsstat", "link"])
def test_p5_no_attributes_rather_than_old_ones(faultd, patient, proc):
    proxy, c = patient
    fh = open_file(c)
    other = open_file(c, "other")
    c.write(fh, 0, pattern(1000)).ok()

    def attr_of(fh, name):
        if proc == "readdirplus":
            entries = {e.name: e.attr for e in c.list_all(c.root, plus=True)}
            return entries[name.encode()]
        args = {
            "lookup": (c.root, name), "link": (fh, c.root, name + str(random.random())),
        }.get(proc, (fh,))  # fmt: skip
        return c.call(proc, *args).ok().attr

    assert attr_of(fh, "f") is None
    assert attr_of(other, "other").size == 1
    c.commit(fh).ok()
    assert attr_of(fh, "f").size == 1000


# ---------------------------------------------------------------- several clients


def test_p5_second_client_sees_acked_bytes(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"of the first").ok()
    with mounted(proxy, cred=machine("second")) as other:
        assert other.getattr(fh).ok().attr.size == 12
        assert other.read(fh, 0, 100).ok().data == b"of the first"
        other.write(fh, 7, b"second").ok()
    assert c.read(fh, 0, 100).ok().data == b"of the second"


def test_early_acks_end_when_a_second_client_comes(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"one").ok()
    assert acked_early(proxy) == 1
    with mounted(proxy, cred=machine("second")) as other:
        other.getattr(fh).ok()
        assert c.write(fh, 0, b"two").ok().wcc.after is not None
        other.write(fh, 0, b"six").ok()
        other.write(fh, 3, b"ten").ok()
    assert acked_early(proxy) == 1
    c.commit(fh).ok()
    assert faultd.dump("f") == b"sixten"


def test_clients_of_one_machine_name_are_one(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    with mounted(proxy) as again:
        c.write(fh, 0, b"one").ok()
        again.write(fh, 3, b"two").ok()
    assert acked_early(proxy) == 2
    assert dirty(proxy) == 6


# ---------------------------------------------------------------- P6: credentials


def test_p6_bytes_keep_their_writers_credential(faultd, patient):
    """Neighbours are not joined, overwritten bytes do not change hands."""
    proxy, c = patient
    users = [Cred(uid=uid, gid=uid) for uid in (11, 12, 13)]
    fh = open_file(c, cred=users[0])
    for user in users:
        c.write(fh, 0, b"x", FILE_SYNC, cred=user).ok()
    faultd.cmd("calls clear")
    want = bytearray(59)
    for i in range(30):
        at, user = i * 7 % 57, users[i % 3]
        want[at : at + 3] = b"%03d" % i
        c.write(fh, at, b"%03d" % i, cred=user).ok()
    assert acked_early(proxy) > 20
    c.commit(fh).ok()
    assert faultd.dump("f") == bytes(want)
    owner = {}
    for i in range(30):
        for at in range(i * 7 % 57, i * 7 % 57 + 3):
            owner.setdefault(at, set()).add(11 + i % 3)
    for call in faultd.calls("WRITE"):
        for at in range(call["offset"], call["offset"] + call["count"]):
            assert call["uid"] in owner[at]


def test_p6_user_who_may_not_write_is_never_acked(faultd, patient):
    proxy, c = patient
    owner, other = Cred(uid=10, gid=10), Cred(uid=11, gid=11)
    fh = c.create(c.root, "f", mode=0o600, uid=10).ok().fh
    c.write(fh, 0, b"own", cred=owner).ok()
    c.write(fh, 3, b"own", cred=owner).ok()
    for i in range(5):
        assert c.write(fh, i, b"bad", cred=other).name == "ACCES"
    c.commit(fh, cred=owner).ok()
    assert faultd.dump("f") == b"ownown"


def test_p6_a_change_of_mode_ends_the_proof(faultd, patient):
    proxy, c = patient
    user = Cred(uid=10, gid=10)
    fh = c.create(c.root, "f", mode=0o666).ok().fh
    c.write(fh, 0, b"may", cred=user).ok()
    c.write(fh, 3, b"may", cred=user).ok()
    c.setattr(fh, mode=0o600).ok()
    assert c.write(fh, 6, b"not", cred=user).name == "ACCES"
    c.commit(fh).ok()
    assert faultd.dump("f") == b"maymay"


# ---------------------------------------------------------------- errors


def test_p1_lost_bytes_are_told_to_everybody_who_wrote(faultd, patient):
    proxy, c = patient
    with mounted(proxy, cred=machine("second")) as other:
        fh = make_file(c)
        other.write(fh, 100, b"second").ok()
        other.commit(fh).ok()
        first = c.write(fh, 0, b"first").ok().verf
        second = other.write(fh, 100, b"SECOND").ok().verf
        faultd.cmd("error COMMIT IO 1")
        faultd.cmd("error WRITE IO 2")
        assert c.commit(fh).name == "IO"
        assert other.commit(fh).name == "IO"
        assert first == second
        c.commit(fh).ok()
        other.commit(fh).ok()
    assert upstream_counters(proxy)["lost_bytes"] == 11
    assert proxy.wait_log("are lost").startswith("error")


@pytest.mark.parametrize("error", ["IO", "NOSPC", "DQUOT", "ROFS", "FBIG", "ACCES",
                                   "STALE"])  # fmt: skip
def test_error_of_acked_bytes_then_quarantine(faultd, patient, error):
    """The COMMIT gets it; WRITEs after that get their own, until it is over."""
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"lost").ok()
    faultd.cmd(f"error WRITE {error} 2")
    assert c.commit(fh).name == error
    assert c.write(fh, 0, b"refused").name == error
    r = c.write(fh, 0, b"kept").ok()
    assert r.committed == FILE_SYNC
    assert faultd.calls("WRITE")[-1]["stable"] == FILE_SYNC
    assert acked_early(proxy) == 1
    assert faultd.dump("f") == b"kept"
    c.commit(fh).ok()


def test_jukebox_is_no_error(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, b"data").ok()
    faultd.cmd("error WRITE JUKEBOX 2")
    faultd.cmd("error COMMIT JUKEBOX 2")
    c.commit(fh).ok()
    assert faultd.dump("f") == b"data"


def test_short_writes_of_acked_bytes_are_completed(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, pattern(1000)).ok()
    faultd.cmd("short WRITE 300 3")
    c.commit(fh).ok()
    assert faultd.dump("f") == pattern(1000)


def test_full_file_system(faultd, patient):
    """Acks were given for more than there is room: everybody hears of it in time."""
    proxy, c = patient
    fh = open_file(c)
    faultd.cmd("space 20000")
    for i in range(10):
        c.write(fh, i * 4096, pattern(4096)).ok()
    assert c.commit(fh).name == "NOSPC"
    assert c.write(fh, 1 << 20, b"more").name == "NOSPC"
    faultd.cmd("space off")
    c.write(fh, 0, b"less").ok()
    c.commit(fh).ok()
    assert faultd.dump("f")[:4] == b"less"


# ---------------------------------------------------------------- restarted proxy


def test_limits_are_asked_for_when_no_client_does(faultd):
    """A client that mounted before the proxy started does not send FSINFO again."""
    with proxy_with(faultd, **PATIENT) as proxy, proxy.client() as c:
        c.root = c.mnt("/exp").ok().fh
        fh = make_file(c, data=b"x")
        wait_until(lambda: count_of(faultd, "FSINFO") == 1, what="FSINFO")
        c.write(fh, 0, b"y").ok()
        assert acked_early(proxy) == 1
        c.write(fh, 1, b"z").ok()
        assert count_of(faultd, "FSINFO") == 1


def test_writes_larger_than_the_upstream_takes_pass_through():
    with FaultServer("--wtmax", "32768") as faultd:
        with proxy_with(faultd, **PATIENT) as proxy, mounted(proxy) as c:
            fh = open_file(c)
            c.write(fh, 0, pattern(32768)).ok()
            assert acked_early(proxy) == 1
            assert c.write(fh, 0, pattern(40000)).ok().count == 40000
            assert acked_early(proxy) == 1
            c.commit(fh).ok()
            assert faultd.dump("f") == pattern(40000)


# ---------------------------------------------------------------- all of it together


@pytest.mark.parametrize("seed", range(6))
def test_p1_random_work_with_reboots_and_cuts(faultd, proxy, c, seed):
    """After every COMMIT the stable bytes are those that were acked before it."""
    rng = random.Random(seed)
    size = 200_000
    files = {n: (make_file(c, n, bytes(size)), bytearray(size)) for n in "abc"}
    verfs = set()
    for turn in range(40):
        name = rng.choice("abc")
        fh, want = files[name]
        event = rng.randrange(8)
        if event == 0:
            faultd.cmd(f"reboot some {seed}{turn}")
        elif event == 1:
            faultd.cmd(f"drop WRITE,COMMIT {rng.choice(['before', 'after'])}")
        elif event == 2:
            faultd.cmd("error COMMIT IO 1")
        elif event == 3:
            n = rng.randrange(size)
            at = rng.randrange(size)
            assert c.read(fh, at, n).ok().data == bytes(want[at : at + n])
        xids = []
        for _ in range(rng.randrange(30)):
            data = rng.randbytes(rng.choice([100, 4096, 9999]))
            at = rng.randrange(size - len(data))
            want[at : at + len(data)] = data
            how = FILE_SYNC if rng.random() < 0.1 else UNSTABLE
            xids.append(c.start("write", fh, at, data, how))
        verfs |= {c.finish(xid).ok().verf for xid in xids}
        if rng.random() < 0.5:
            verfs.add(c.commit(fh).ok().verf)
            assert faultd.dump(name) == bytes(want), f"turn {turn}"
    for name, (fh, want) in files.items():
        verfs.add(c.commit(fh).ok().verf)
        assert faultd.dump(name) == bytes(want)
    assert len(verfs) == 1
    assert upstream_counters(proxy)["lost_bytes"] == 0
