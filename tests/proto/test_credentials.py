"""P6: every call goes upstream with the credential it came with, byte for byte."""

import struct

import pytest
from harness import EXPORT, Proxy, make_file
from nfs3_client import AUTH_NONE, Cred, Enc
from proto import machine, mounted
from tap import Tap

CREDS = {
    "no gids": Cred(uid=1, gid=2),
    "one gid": Cred(uid=1000, gid=100, gids=(7,)),
    "16 gids": Cred(uid=2**32 - 2, gid=2**32 - 1, gids=tuple(range(16))),
    "255 bytes of name": Cred(machine=bytes(range(1, 256))),
    "no name": Cred(machine=b"", stamp=0xDEADBEEF),
    "name with a zero": Cred(machine=b"a\0b", uid=5),
    "none": Cred(flavor=AUTH_NONE),
}


def credential(call):
    """Flavor, body and verifier of a recorded call, as bytes."""
    n = struct.unpack(">I", call[28:32])[0]
    end = 32 + n + -n % 4
    return call[24 : end + 8]


@pytest.fixture(scope="module")
def tapped():
    """(tap, proxy) shared by the tests that only look at bytes."""
    from harness import FaultServer

    with FaultServer() as faultd, Tap(faultd) as tap, Proxy(tap) as proxy:
        yield tap, proxy


@pytest.mark.parametrize("name", CREDS)
def test_p6_credential_bytes_pass_unchanged(tapped, name):
    tap, proxy = tapped
    cred = CREDS[name]
    e = Enc()
    cred.encode(e)
    sent = e.bytes() + bytes(8)
    with mounted(proxy) as c:
        c.getattr(c.root, cred=cred).ok()
        assert credential(tap.last(1).call) == sent
        c.mnt(EXPORT, cred=cred).ok()
        assert credential(tap.last(1, 100005).call) == sent
        c.getacl(c.root, cred=cred).ok()
        assert credential(tap.last(1, 100227).call) == sent
        fh = make_file(c, "".join(x for x in name if x.isalnum()))
        c.write(fh, 0, b"data", cred=cred).ok()
        assert credential(tap.last(7).call) == sent
        c.commit(fh, cred=cred).ok()
        assert credential(tap.last(21).call) == sent


def test_p6_calls_in_flight_do_not_mix_credentials(faultd, proxy, c):
    """Neighbouring WRITEs of many users, sent together, held and sent again."""
    fh = make_file(c)
    faultd.cmd("hold WRITE")
    xids = {}
    for uid in range(40):
        cred = Cred(uid=uid, gid=uid + 1, gids=tuple(range(uid % 17)))
        xids[uid] = c.start("write", fh, uid * 10, b"ten bytes!", cred=cred)
    faultd.cmd("wait WRITE 40")
    faultd.cmd("close all reset")
    faultd.cmd("wait calls WRITE 80")
    faultd.cmd("release WRITE")
    for xid in xids.values():
        c.finish(xid).ok()
    for call in faultd.calls("WRITE"):
        uid = call["offset"] // 10
        assert (call["uid"], call["gid"]) == (uid, uid + 1)
        assert call["gids"] == list(range(uid % 17))


def test_p6_denied_user_stays_denied(faultd, proxy, c):
    """What one user may write does not let another one's bytes in."""
    fh = c.create(c.root, "f", mode=0o600, uid=10).ok().fh
    owner, other = machine("m", uid=10, gid=10), machine("m", uid=11, gid=11)
    xids = []
    for i in range(20):
        cred, data = (other, b"bad") if i % 2 else (owner, b"own")
        xids.append(c.start("write", fh, i * 3, data, cred=cred))
    names = [c.finish(xid).name for xid in xids]
    assert names == ["OK", "ACCES"] * 10
    assert b"bad" not in faultd.dump("f", visible=True)


def test_p6_commits_go_out_with_a_credential_that_wrote(faultd, proxy, c):
    """Whoever asks for it; of a file nobody wrote, with that of who asks."""
    fh, other = make_file(c), make_file(c, "other")
    one, two = machine("m", uid=1), machine("m", uid=2)
    c.write(fh, 0, b"data", cred=one).ok()
    c.commit(fh, cred=two).ok()
    c.commit(other, cred=two).ok()
    assert [call["uid"] for call in faultd.calls("COMMIT")] == [1, 2]


def test_p6_proof_of_a_stable_write_uses_the_writers_credential(faultd, proxy, c):
    fh = make_file(c)
    faultd.cmd("downgrade on")
    c.write(fh, 0, b"data", 2, cred=Cred(uid=77, gid=78, gids=(79,))).ok()
    call = faultd.calls("COMMIT")[-1]
    assert (call["uid"], call["gid"], call["gids"]) == (77, 78, [79])


def test_p6_looking_after_a_resend_uses_the_callers_credential(faultd, proxy, c):
    cred = Cred(uid=77, gid=78)
    make_file(c, data=b"x")  # tells the proxy the upstream's time
    faultd.cmd("drop MKDIR after")
    c.mkdir(c.root, "d", cred=cred).ok()
    assert {call["uid"] for call in faultd.calls("LOOKUP,MKDIR")} == {77}
