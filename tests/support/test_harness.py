"""The harness itself: it must see a daemon that dies, hangs or never comes up.

The daemon here is a few lines of script that behave as nfsgatherd promises to.
"""

import os
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import HarnessError, Proxy, free_port, wait_until  # noqa: E402

SCRIPT = """#!{python}
import json, os, signal, socket, sys
print("argv", sys.argv[1:], file=sys.stderr, flush=True)
stop = []
count = [0]
def dump(*_):
    count[0] += 1
    print(json.dumps({{"count": count[0]}}), flush=True)
def end(*_):
    dump()
    os._exit({code})
signal.signal(signal.SIGUSR2, dump)
signal.signal(signal.SIGTERM, end)
{before}
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"STATUS=up\\nREADY=1", os.environ["NOTIFY_SOCKET"])
while True:
    signal.pause()
"""


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """Makes a Proxy whose program is the script."""
    made = []

    def make(code=0, before="", **kw):
        path = tmp_path / "nfsgatherd"
        path.write_text(SCRIPT.format(python=sys.executable, code=code, before=before))
        path.chmod(0o755)
        monkeypatch.setenv("NFSGATHERD", str(path))
        made.append(Proxy(**{"conf": "[nfsgather]\n", **kw}))
        return made[-1]

    yield make
    for proxy in made:
        proxy.close(check=False)


def test_ready_counters_and_end(daemon):
    with daemon() as p:
        p.check_alive()
        assert p.counters() == {"count": 1}
        assert p.counters() == {"count": 2}
        assert "-c" in p.wait_log("argv")
        assert p.stop() == {"count": 3}
        p.start()
        assert p.counters() == {"count": 1}


def test_command_line_of_one_upstream(daemon):
    class Upstream:
        export, port = "/exp", 1234

    with daemon(conf=None, upstream=Upstream, options=["--log-level", "debug"]) as p:
        line = p.wait_log("argv")
        assert "127.0.0.1:/exp,port=1234,mount_port=1234" in line
        assert f"127.0.0.1:{p.port}" in line and "debug" in line


def test_kill_and_start_again(daemon):
    with daemon() as p:
        p.kill()
        assert not p.running()
        p.start()
        p.check_alive()


def test_death_at_start_is_seen_at_once(daemon):
    start = time.monotonic()
    with pytest.raises(HarnessError, match="(?s)ended with 3.*argv"):
        daemon(before="sys.exit(3)").start()
    assert time.monotonic() - start < 10


def test_death_later_is_seen(daemon):
    with pytest.raises(HarnessError, match="died with -9"):
        with daemon() as p:
            os.kill(p.process.pid, 9)
            p.process.wait()


def test_bad_end_is_seen(daemon):
    with pytest.raises(HarnessError, match="ended with 5"):
        with daemon(code=5):
            pass


def test_wait_until_gives_up():
    with pytest.raises(HarnessError, match="the moon did not"):
        wait_until(lambda: False, 0.05, "the moon")
    assert wait_until(lambda: 7) == 7


def test_ports_are_free():
    assert 20000 <= free_port() < 32000
