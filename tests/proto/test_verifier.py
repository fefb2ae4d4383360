"""One honest verifier: P1, P2, P3, and the rules I1, I2, I8, I10, I11 behind them.

What the upstream had not made stable is lost in `reboot`; the proxy has it still (I3) and
clients notice nothing. Only what cannot be written any more is told, by an error or a
COMMIT whose verifier is not that of the WRITEs.
"""

import random

import pytest
from harness import make_file, pattern, wait_until
from nfs3_client import DATA_SYNC, FILE_SYNC, UNSTABLE
from proto import (
    count_of, files_on_two_connections, lose, machine, mounted, upstream_counters,
)  # fmt: skip

ZERO = bytes(8)


def rotations(proxy):
    return upstream_counters(proxy)["verifier_rotations"]


def upstream_verifier(faultd):
    return bytes.fromhex(faultd.stats()["verifier"])


# ---------------------------------------------------------------- P3: one verifier


def test_p3_one_verifier_in_ten_thousand_replies(faultd, proxy, c):
    files = [make_file(c, f"f{i}") for i in range(8)]
    seen = set()
    for turn in range(100):
        xids = []
        for i in range(100):
            fh = files[i % 8]
            if i % 10 == 9:
                xids.append(c.start("commit", fh))
            else:
                xids.append(c.start("write", fh, i * 16, b"sixteen bytes ..", i % 3))
        seen |= {c.finish(xid).ok().verf for xid in xids}
    assert len(seen) == 1
    assert seen & {ZERO, upstream_verifier(faultd)} == set()
    assert rotations(proxy) == 0


def test_p3_verifiers_of_fifty_starts_differ(faultd, proxy):
    with mounted(proxy) as c:
        fh = make_file(c)
    seen = []
    for _ in range(50):
        with proxy.client() as c:
            seen.append(c.write(fh, 0, b"x").ok().verf)
            assert c.commit(fh).ok().verf == seen[-1]
        proxy.kill()
        proxy.start()
    assert len(set(seen)) == 50
    assert ZERO not in seen


def test_p3_zero_verifier_of_a_stable_write_is_ignored(faultd, proxy, c):
    faultd.cmd("zeroverf on")
    fh = make_file(c)
    verfs = [
        c.write(fh, 0, b"unstable").ok().verf,
        c.write(fh, 100, b"stable", FILE_SYNC).ok().verf,
        c.write(fh, 200, b"unstable").ok().verf,
        c.commit(fh).ok().verf,
    ]
    assert len(set(verfs)) == 1
    assert verfs[0] != ZERO
    assert rotations(proxy) == 0


def test_i2_no_change_when_nothing_was_at_stake(faultd, proxy, c):
    """The upstream's verifier changes while all data is stable."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"one").ok().verf
    assert c.commit(fh).ok().verf == verf
    faultd.cmd("verifier new")
    assert c.commit(fh).ok().verf == verf
    assert c.write(fh, 0, b"two").ok().verf == verf
    assert c.commit(fh).ok().verf == verf
    assert rotations(proxy) == 0


def test_i2_old_verifiers_do_not_come_back(faultd, proxy, c):
    fh = make_file(c)
    seen = [lose(faultd, c, f"lost{i}") for i in range(10)]
    seen.append(c.write(fh, 0, b"x").ok().verf)
    assert c.commit(fh).ok().verf == seen[-1]
    assert len(set(seen)) == 11
    assert rotations(proxy) == 10


# ---------------------------------------------------------------- I3: repaired here


def repaired(faultd, proxy, verf, name, data):
    """What a reboot would leave is this, and no client had to hear of it."""
    assert faultd.dump(name) == data
    assert upstream_counters(proxy)["lost_bytes"] == 0
    assert rotations(proxy) == 0


@pytest.mark.parametrize("first", [b"", b"proven"], ids=["passed", "acked early"])
def test_i3_reboot_between_write_and_commit(faultd, proxy, c, first):
    fh = make_file(c, data=first)
    verf = c.write(fh, 0, b"written").ok().verf
    c.getattr(fh).ok()  # it has reached the upstream
    faultd.cmd("reboot")
    assert c.commit(fh).ok().verf == verf
    assert c.write(fh, 0, b"further").ok().verf == verf
    assert c.commit(fh).ok().verf == verf
    repaired(faultd, proxy, verf, "f", b"further")


def test_i3_reboot_is_repaired_in_every_file(faultd, proxy, c):
    files = [make_file(c, f"f{i}") for i in range(10)]
    before = {c.write(fh, 0, b"data").ok().verf for fh in files}
    faultd.cmd("reboot")
    assert before == {c.commit(fh).ok().verf for fh in files}
    for i in range(10):
        repaired(faultd, proxy, before, f"f{i}", b"data")


def test_i3_reboots_in_a_row(faultd, proxy, c):
    fh = make_file(c, data=b"0")
    verf = c.write(fh, 0, pattern(3000)).ok().verf
    c.getattr(fh).ok()
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    for i in range(1, 4):
        faultd.cmd("wait COMMIT 1")
        faultd.cmd("reboot")
    faultd.cmd("wait COMMIT 1")
    faultd.cmd("release COMMIT")
    assert c.finish(commit).ok().verf == verf
    repaired(faultd, proxy, verf, "f", pattern(3000))


@pytest.mark.parametrize("how", ["quiet", "flush"])
def test_p1_write_replies_still_queued_while_the_upstream_restarts(
    faultd, proxy, c, how
):
    """The reply with the old verifier is read after another connection showed the new
    one: what counts is under which verifier each WRITE was answered, not "the" current.
    """
    (a, conn_a), (b, _) = files_on_two_connections(c, faultd)
    faultd.cmd(f"stall {conn_a}")
    xid = c.start("write", a, 0, b"stalled")
    commit_a = c.start("commit", a)
    faultd.cmd(f"wait stalled {conn_a} 1")
    faultd.cmd(f"reboot {how}")
    verf = c.write(b, 0, b"kept").ok().verf
    assert c.commit(b).ok().verf == verf
    if how == "quiet":
        faultd.cmd(f"unstall {conn_a}")
    assert c.finish(xid).ok().verf == c.finish(commit_a).ok().verf == verf
    faultd.cmd("reboot")
    assert c.read(a, 0, 10).ok().data == b"stalled"
    assert c.read(b, 0, 10).ok().data == b"kept"


def test_p1_write_acked_while_a_commit_is_out(faultd, proxy, c):
    """The COMMIT was sent before the WRITE was answered and does not cover it."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"first").ok().verf
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    second = c.write(fh, 5, b"second").ok().verf
    faultd.cmd("release COMMIT")
    assert c.finish(commit).ok().verf == verf == second
    assert faultd.dump("f")[:5] == b"first"
    faultd.cmd("reboot")
    assert c.commit(fh).ok().verf == verf
    repaired(faultd, proxy, verf, "f", b"firstsecond")


@pytest.mark.parametrize("first", [b"", b"x"], ids=["passed", "acked early"])
def test_p1_commit_waits_for_the_writes_before_it(faultd, proxy, c, first):
    """A COMMIT sent before a WRITE's reply would prove nothing about it."""
    fh = make_file(c, data=first)
    faultd.cmd("hold WRITE")
    write = c.start("write", fh, 0, b"data")
    commit = c.start("commit", fh)
    faultd.cmd("wait WRITE 1")
    c.null()
    assert commit not in c.arrived
    assert count_of(faultd, "COMMIT") == 0
    faultd.cmd("release WRITE")
    assert c.finish(commit).ok().verf == c.finish(write).ok().verf
    assert faultd.dump("f") == b"data"


def test_p1_commit_cut_off_before_its_reply(faultd, proxy, c):
    """It may have told, and so used up, an error: everything is written once more."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("drop COMMIT after")
    assert c.commit(fh).ok().verf == verf
    assert count_of(faultd, "WRITE") == 2
    repaired(faultd, proxy, verf, "f", b"data")


def test_p1_failed_commit_whose_reply_was_lost(faultd, proxy, c):
    """Servers tell a write error once; the second COMMIT says OK over lost bytes."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("error COMMIT IO 1")
    faultd.cmd("cut COMMIT 0")
    assert c.commit(fh).ok().verf == verf
    assert count_of(faultd, "WRITE") == 2
    repaired(faultd, proxy, verf, "f", b"data")


@pytest.mark.parametrize("how", ["", "quiet"])
def test_p1_reboot_while_a_commit_is_out(faultd, proxy, c, how):
    """Its connection is cut, or (quiet) it is executed by the server's next life."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    faultd.cmd(f"reboot {how}")
    faultd.cmd("release COMMIT")
    assert c.finish(commit).ok().verf == verf
    repaired(faultd, proxy, verf, "f", b"data")


def test_p1_verifier_change_without_restart(faultd, proxy, c):
    """Servers do this after a write error, to tell clients that something is lost."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("verifier new")
    assert c.commit(fh).ok().verf == verf
    assert count_of(faultd, "WRITE") == 2
    repaired(faultd, proxy, verf, "f", b"data")


def test_p1_writes_under_two_verifiers_and_one_commit(faultd, proxy, c):
    fh = make_file(c)
    verf = c.write(fh, 0, b"old").ok().verf
    faultd.cmd("verifier new")
    assert c.write(fh, 3, b"new").ok().verf == verf
    assert c.commit(fh).ok().verf == verf
    again = [w for w in faultd.calls("WRITE")[2:] if w["offset"] == 0]
    assert again, "bytes under the old verifier were not written again"
    repaired(faultd, proxy, verf, "f", b"oldnew")


# ---------------------------------------------------------------- P1: failed COMMITs


def test_i10_failed_commit_is_repaired_by_stable_writes(faultd, proxy, c):
    """Once more with FILE_SYNC, so that the error lands where it belongs, if it lasts."""
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("error COMMIT IO 1")
    assert c.commit(fh).ok().verf == verf
    assert [w["stable"] for w in faultd.calls("WRITE")] == [UNSTABLE, FILE_SYNC]
    repaired(faultd, proxy, verf, "f", b"data")


def test_p1_loss_is_told_to_both_clients(faultd, proxy):
    with (
        mounted(proxy, cred=machine("one")) as one,
        mounted(proxy, cred=machine("two")) as two,
    ):
        fh = make_file(one)
        of_one = one.write(fh, 0, b"one").ok().verf
        of_two = two.write(fh, 100, b"two").ok().verf
        faultd.cmd("error COMMIT IO 1")
        faultd.cmd("error WRITE IO 2")
        assert one.commit(fh).name == "IO"
        assert two.commit(fh).name == "IO"
        assert of_one == of_two
        wait_until(lambda: upstream_counters(proxy)["lost_bytes"] == 6)
        assert one.commit(fh).ok().verf == two.commit(fh).ok().verf


def test_p1_write_acked_after_the_failed_commit_was_asked(faultd, proxy, c):
    """The client takes the error for what it had written before it asked."""
    fh = make_file(c)
    c.write(fh, 0, b"first").ok()
    faultd.cmd("hold COMMIT")
    commit = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    second = c.write(fh, 100, b"second").ok().verf
    faultd.cmd("error WRITE IO 2")
    faultd.cmd("error COMMIT IO 1")
    faultd.cmd("release COMMIT")
    assert c.finish(commit).name == "IO"
    again = c.commit(fh)
    assert again.name == "IO" or again.verf != second


@pytest.mark.parametrize("error", ["JUKEBOX", "ACCES"])
def test_i2_refused_commit_leaves_everything_as_it_was(faultd, proxy, c, error):
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd(f"error COMMIT {error} 1")
    assert c.commit(fh).ok().verf == verf
    repaired(faultd, proxy, verf, "f", b"data")


def test_p1_refused_commit_does_not_settle(faultd, proxy, c):
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("error COMMIT JUKEBOX")
    commit = c.start("commit", fh)
    faultd.cmd("wait calls COMMIT 2")
    assert commit not in c.arrived
    faultd.cmd("reboot")
    faultd.cmd("clear COMMIT")
    assert c.finish(commit).ok().verf == verf
    repaired(faultd, proxy, verf, "f", b"data")


# ---------------------------------------------------------------- COMMITs as such


def test_p1_commit_is_not_answered_before_the_upstream_answered(faultd, proxy, c):
    fh = make_file(c)
    c.write(fh, 0, b"data").ok()
    faultd.cmd("hold COMMIT")
    xid = c.start("commit", fh)
    faultd.cmd("wait COMMIT 1")
    c.null()  # a later call is answered, the COMMIT is not
    assert xid not in c.arrived
    faultd.cmd("release COMMIT")
    c.finish(xid).ok()
    assert faultd.dump("f") == b"data"


def test_i11_commit_twice_and_of_a_file_never_written(faultd, proxy, c):
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    assert c.commit(fh).ok().verf == verf
    assert c.commit(fh).ok().verf == verf
    other = make_file(c, "other")
    assert c.commit(other).ok().verf == verf
    assert count_of(faultd, "COMMIT") == 2
    assert upstream_counters(proxy)["commits_local"] == 1


@pytest.mark.parametrize("error", ["STALE", "ROFS", "NOSPC"])
def test_i11_errors_of_commit_stay_visible(faultd, proxy, c, error):
    fh = make_file(c)
    faultd.cmd(f"error COMMIT {error} 1")
    assert c.commit(fh).name == error


def test_i10_commit_goes_out_for_the_whole_file(faultd, proxy, c):
    """A client's range may be wrong (32-bit counts that wrapped)."""
    fh = make_file(c)
    data = pattern(3000)
    verf = c.write(fh, 0, data).ok().verf
    assert c.commit(fh, 1000, 100).ok().verf == verf
    assert c.write(fh, 0, data).ok().verf == verf
    assert c.commit(fh, 2**64 - 10, 100).ok().verf == verf
    for sent in faultd.calls("COMMIT"):
        assert (sent["offset"], sent["count"]) == (0, 0)
    assert faultd.dump("f") == data


def test_i10_commits_that_add_nothing_share_the_one_that_is_out(faultd, proxy, c):
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("hold COMMIT")
    xids = [c.start("commit", fh)]
    faultd.cmd("wait COMMIT 1")
    xids += [c.start("commit", fh) for _ in range(9)]
    c.null()  # all have been read now
    faultd.cmd("release COMMIT")
    assert {c.finish(xid).ok().verf for xid in xids} == {verf}
    assert count_of(faultd, "COMMIT") == 1
    assert upstream_counters(proxy)["commits_shared"] > 0


def test_i10_commits_of_one_file_share_the_next(faultd, proxy, c):
    fh = make_file(c)
    verf = c.write(fh, 0, b"data").ok().verf
    faultd.cmd("hold COMMIT")
    xids = [c.start("commit", fh)]
    faultd.cmd("wait COMMIT 1")
    for i in range(9):
        c.write(fh, 4 + i, b"+").ok()
        xids.append(c.start("commit", fh))
    c.null()
    faultd.cmd("release COMMIT")
    assert {c.finish(xid).ok().verf for xid in xids} == {verf}
    assert count_of(faultd, "COMMIT") == 2
    repaired(faultd, proxy, verf, "f", b"data" + b"+" * 9)


def test_i10_loss_fails_all_commits_that_wait(faultd, proxy, c):
    fh = make_file(c)
    c.write(fh, 0, b"data").ok()
    faultd.cmd("hold COMMIT")
    xids = [c.start("commit", fh)]
    faultd.cmd("wait COMMIT 1")
    xids += [c.start("commit", fh) for _ in range(3)]
    c.null()
    faultd.cmd("error WRITE IO 1")
    faultd.cmd("error COMMIT IO 1")
    faultd.cmd("release COMMIT")
    assert {c.finish(xid).name for xid in xids} == {"IO"}
    c.commit(fh).ok()


# ---------------------------------------------------------------- P2: stable WRITEs


@pytest.mark.parametrize("stable", [DATA_SYNC, FILE_SYNC])
def test_p2_stable_write_survives_a_reboot(faultd, proxy, c, stable):
    fh = make_file(c)
    r = c.write(fh, 0, b"data", stable).ok()
    faultd.cmd("reboot")
    assert r.committed >= stable
    assert faultd.dump("f") == b"data"


@pytest.mark.parametrize("stable", [DATA_SYNC, FILE_SYNC])
def test_p2_downgraded_write_is_proven_by_a_commit(faultd, proxy, c, stable):
    fh = make_file(c)
    faultd.cmd("downgrade on")
    faultd.cmd("hold COMMIT")
    xid = c.start("write", fh, 0, b"data", stable)
    faultd.cmd("wait COMMIT 1")
    c.null()
    assert xid not in c.arrived
    faultd.cmd("release COMMIT")
    assert c.finish(xid).ok().committed >= stable
    assert faultd.dump("f") == b"data"


def test_p2_data_sync_is_no_file_sync(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("committed data_sync")
    assert c.write(fh, 0, b"data", FILE_SYNC).ok().committed == FILE_SYNC
    assert count_of(faultd, "COMMIT") == 1


@pytest.mark.parametrize("how", ["", "quiet"])
def test_p2_reboot_between_downgraded_write_and_its_proof(faultd, proxy, c, how):
    fh = make_file(c)
    faultd.cmd("downgrade on")
    faultd.cmd("hold COMMIT")
    xid = c.start("write", fh, 0, b"data", FILE_SYNC)
    faultd.cmd("wait COMMIT 1")
    faultd.cmd(f"reboot {how}")
    faultd.cmd("release COMMIT")
    assert c.finish(xid).ok().committed == FILE_SYNC
    assert count_of(faultd, "WRITE") == 2
    faultd.cmd("reboot")
    assert faultd.dump("f") == b"data"


def test_p2_downgraded_write_that_cannot_be_proven_fails(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("downgrade on")
    faultd.cmd("error COMMIT NOSPC 1")
    faultd.cmd("error WRITE NOSPC 1 skip=1")
    assert c.write(fh, 0, b"data", FILE_SYNC).name == "NOSPC"


# ---------------------------------------------------------------- a client's life


class CarefulClient:
    """Keeps what is not proven stable and sends it again, as kernels do."""

    def __init__(self, c, fh, size):
        self.c, self.fh = c, fh
        self.want = bytearray(size)
        self.pending = []  # (offset, data, verifier)

    def write(self, pieces):
        xids = [(o, d, self.c.start("write", self.fh, o, d)) for o, d in pieces]
        for offset, data, xid in xids:
            self.want[offset : offset + len(data)] = data
            self.pending.append((offset, data, self.c.finish(xid).ok().verf))

    def commit(self):
        """One COMMIT; False: something had to be written again."""
        verf = self.c.commit(self.fh).ok().verf
        again = [(o, d) for o, d, v in self.pending if v != verf]
        self.pending = []
        self.write(again)
        return not again


@pytest.mark.parametrize("seed", range(3))
def test_p1_fsynced_bytes_survive_random_reboots(faultd, proxy, c, seed):
    """After every fsync() the stable bytes are what was written, whatever happened."""
    rng = random.Random(seed)
    size = 64 * 1024
    careful = CarefulClient(c, make_file(c, data=bytes(size)), size)
    for turn in range(12):
        pieces = []
        for _ in range(rng.randrange(1, 12)):
            n = rng.randrange(1, 9000)
            pieces.append((rng.randrange(0, size - n), rng.randbytes(n)))
        event = rng.choice(["before", "between", "after", "cut", "none"])
        at = rng.randrange(len(pieces) + 1)
        if event == "before":
            careful.write(pieces[:at])
            faultd.cmd(f"reboot some {seed}{turn}")
            careful.write(pieces[at:])
        else:
            careful.write(pieces)
        if event == "between":
            faultd.cmd(f"reboot some {seed}{turn}")
        if event == "cut":
            faultd.cmd("drop COMMIT after")
        if event == "after":
            careful.commit()
            faultd.cmd(f"reboot some {seed}{turn}")
        while not careful.commit():
            pass
        assert faultd.dump("f") == bytes(careful.want), f"seed {seed} turn {turn}"
