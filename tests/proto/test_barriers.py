"""Calls that meet acked bytes: what changes, cuts, removes or renames their file, and the
end of the proxy. They find the upstream as if every acked WRITE had been done before."""

import signal
import time

import pytest
from harness import make_file, pattern
from proto import PATIENT, count_of, mounted, open_file, proxy_with


# ---------------------------------------------------------------- order with other calls


def test_truncate_after_early_acks(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, pattern(10000)).ok()
    assert c.setattr(fh, size=100).ok().wcc.after.size == 100
    c.write(fh, 200, b"beyond").ok()
    faultd.cmd("reboot")
    c.commit(fh).ok()
    assert faultd.dump("f") == pattern(100) + bytes(100) + b"beyond"
    assert c.read(fh, 0, 1000).ok().data == pattern(100) + bytes(100) + b"beyond"


def test_truncated_bytes_are_not_written_again(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, pattern(10000)).ok()
    c.getattr(fh).ok()
    c.setattr(fh, size=10).ok()
    faultd.cmd("reboot")
    c.commit(fh).ok()
    assert faultd.dump("f") == pattern(10)


def test_create_that_cuts_after_early_acks(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, pattern(10000)).ok()
    r = c.create(c.root, "f", mode=0o666, size=0).ok()
    assert r.fh == fh and r.attr.size == 0
    c.write(fh, 0, b"new").ok()
    faultd.cmd("reboot")
    c.commit(fh).ok()
    assert faultd.dump("f") == b"new"


def test_setattr_of_times_comes_after_acked_bytes(faultd, patient):
    proxy, c = patient
    fh = open_file(c)
    c.write(fh, 0, pattern(1000)).ok()
    assert c.setattr(fh, mtime=(1000, 1)).ok().wcc.after.mtime == (1000, 1)
    c.commit(fh).ok()
    attr = c.getattr(fh).ok().attr
    assert (attr.size, attr.mtime) == (1000, (1000, 1))


def test_remove_after_early_acks(faultd, patient):
    """The bytes go first; another name of the file still leads to them."""
    proxy, c = patient
    fh = open_file(c)
    c.link(fh, c.root, "hard").ok()
    c.write(fh, 0, b"data").ok()
    c.remove(c.root, "f").ok()
    order = [call["proc"] for call in faultd.calls("WRITE,REMOVE")]
    assert order[-2:] == ["WRITE", "REMOVE"]
    c.commit(fh).ok()
    assert faultd.dump("hard") == b"data"


def test_remove_of_the_last_name(faultd, patient):
    """What was not committed is gone with the file, and COMMIT says so."""
    proxy, c = patient
    fh, other = open_file(c), open_file(c, "other")
    c.write(fh, 0, b"data").ok()
    c.write(other, 0, b"other").ok()
    c.remove(c.root, "f").ok()
    assert c.commit(fh).name == "STALE"
    assert c.write(fh, 0, b"late").name == "STALE"
    c.commit(other).ok()
    assert faultd.dump("other") == b"other"


def test_rename_over_a_file_with_acked_bytes(faultd, patient):
    """Replacing a file by renaming must not expose one without its bytes."""
    proxy, c = patient
    new, old = open_file(c, "new"), open_file(c, "old")
    c.write(new, 0, b"new bytes").ok()
    c.write(old, 0, b"old bytes").ok()
    c.rename(c.root, "new", c.root, "old").ok()
    order = [call["proc"] for call in faultd.calls("WRITE,RENAME")]
    assert order[-3:] == ["WRITE", "WRITE", "RENAME"]
    assert faultd.dump("old", visible=True) == b"new bytes"
    c.commit(new).ok()
    assert faultd.dump("old") == b"new bytes"


def test_names_cost_no_lookup_while_nothing_is_buffered(faultd, proxy, c):
    fh = open_file(c)
    c.rename(c.root, "f", c.root, "g").ok()
    c.create(c.root, "g", mode=0o666, size=0).ok()
    c.remove(c.root, "g").ok()
    assert c.getattr(fh).name == "STALE"
    assert count_of(faultd, "LOOKUP") == 0


# ---------------------------------------------------------------- ends


def test_p10_killed_proxy_has_another_verifier(faultd):
    with proxy_with(faultd, **PATIENT) as proxy:
        with mounted(proxy) as c:
            fh = open_file(c)
            before = c.write(fh, 0, b"only acked").ok().verf
        proxy.kill()
        proxy.start()
        with mounted(proxy) as c:
            after = c.commit(fh).ok().verf
            assert after != before
            c.write(fh, 0, b"sent again").ok()
            assert c.commit(fh).ok().verf == after
    assert faultd.dump("f") == b"sent again"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_drains(faultd, number):
    """Acked bytes are written and committed, and who waits is answered."""
    with proxy_with(faultd, **PATIENT) as proxy, mounted(proxy) as c:
        files = [open_file(c, f"f{i}") for i in range(5)]
        for fh in files:
            c.write(fh, 0, pattern(10000)).ok()
        faultd.cmd("hold WRITE")
        commit = c.start("commit", files[0])
        faultd.cmd("wait WRITE 1")
        proxy.process.send_signal(number)
        faultd.cmd("wait WRITE 5")
        faultd.cmd("release WRITE")
        c.finish(commit).ok()
        assert proxy.process.wait(20) == 0
        for i in range(5):
            assert faultd.dump(f"f{i}") == pattern(10000)
        assert "not committed" not in proxy.log()
        proxy.start()


def test_stop_that_cannot_drain_says_what_is_left(faultd):
    with proxy_with(faultd, **PATIENT) as proxy, mounted(proxy) as c:
        fh = open_file(c)
        c.write(fh, 0, pattern(10000)).ok()
        faultd.cmd("hold WRITE")
        begun = time.monotonic()
        proxy.process.send_signal(signal.SIGTERM)
        faultd.cmd("wait WRITE 1")
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(20) == 0
        assert time.monotonic() - begun < 8
        assert "stopped with 10000 bytes not written" in proxy.log()
        proxy.start()
