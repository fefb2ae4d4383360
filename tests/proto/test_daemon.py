"""The program: command line, configuration, signals, counters, service manager."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from harness import (
    EXPORT, Proxy, build_file, free_port, make_file, upstream_conf,
)  # fmt: skip
from proto import mounted, upstream_counters

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
ONE = """\
[upstream a]
server = 127.0.0.1
port = 20490
listen = 127.0.0.1:20491
"""
SECOND = ONE.replace(" a]", " b]")


def run(*args, env=None):
    """(exit status, standard output, standard error) of nfsgatherd with these."""
    program = build_file("NFSGATHERD", "nfsgatherd")
    env = {**os.environ, **(env or {})}
    r = subprocess.run(
        [program, *args], capture_output=True, timeout=30, env=env, text=True
    )
    return r.returncode, r.stdout, r.stderr


# ---------------------------------------------------------------- command line


def test_version_and_help():
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert re.fullmatch(r"nfsgatherd \d+\.\d+\S*\n", out)
    for option in ("--help", "-h"):
        code, out, err = run(option)
        assert (code, err) == (0, "")
        for word in ("--upstream", "--listen", "--clients", "--config", "--check"):
            assert word in out
    assert run("--version", "--help")[1] == out


@pytest.mark.parametrize(
    "args, message",
    [
        (["--bogus"], "--bogus"),
        (["-x"], "-x"),
        (["-c"], "needs a value"),
        (["stray"], "stray"),
        (["--upstream", "h:/e"], "--listen"),
        (["--listen", "127.0.0.1:1"], "--upstream"),
        (["-c", "f", "--upstream", "h:/e"], "exclude each other"),
        (["-c", "a", "-c", "b"], "twice"),
        (["--upstream", "h", "--listen", "127.0.0.1:1"], "SERVER:/EXPORT"),
        (["--upstream", "h:/e,port=0", "--listen", "127.0.0.1:1"], "1 to 65535"),
        (["--upstream", "h:/e,x=1", "--listen", "127.0.0.1:1"], "port=N"),
        (["--upstream", "h:/e", "--listen", "127.0.0.1"], "listen"),
        (["--upstream", "h:/e", "--listen", "0.0.0.0:20492"], "--clients"),
        (["--upstream", "h:/e", "--listen", "127.0.0.1:1", "--log-level", "loud"],
         "loud"),
        (["-c", "/nonexistent/file"], "/nonexistent/file: No such file"),
    ],
)  # fmt: skip
def test_wrong_command_lines(args, message):
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert message in err


# ---------------------------------------------------------------- configuration


def check(tmp_path, text):
    path = tmp_path / "nfsgather.conf"
    path.write_text(text)
    code, out, err = run("--check", "-c", str(path))
    return code, out, err.replace(str(path), "FILE")


def test_check_of_a_valid_file(tmp_path):
    code, out, err = check(tmp_path, ONE)
    assert (code, err) == (0, "")
    assert out.endswith("configuration is valid\n")


def test_check_of_the_example_and_of_a_command_line():
    path = os.path.join(TOP, "conf", "nfsgather.conf")
    assert run("--check", "-c", path)[0] == 0
    args = ("--upstream", "h:/e,port=1,mount_port=2", "--listen", "127.0.0.1:20491")
    assert run("--check", *args) == (0, "command line: configuration is valid\n", "")


@pytest.mark.parametrize(
    "number, text, words",
    [
        (1, "[nfsgather]\nlog_level = loud\n" + ONE, "2: [nfsgather] log_level = loud"),
        (2, "[nfsgather]\nmemory = 1K\n" + ONE, "2: [nfsgather] memory = 1K"),
        (3, "[nfsgather]\nmemory = lots\n" + ONE, "2: [nfsgather] memory = lots"),
        (4, ONE.replace("20490", "65536"), "3: [upstream a] port = 65536"),
        (5, ONE + "colour = blue\n", '5: [upstream a]: unknown key "colour"'),
        (6, ONE + "port = 1\n", "5: [upstream a]"),
        (7, ONE + "[sync]\nx = 1\n", "5: [sync]: unknown section"),
        (8, ONE + "clients = 10.0.0.0/33\n", "5: [upstream a] clients"),
        (9, ONE + "clients = 10.0.0.0/8 (ro)\n", "5: [upstream a] clients"),
        (10, ONE + "clients = 10.0.0.0/8(rw,sync)\n", '"sync"'),
        (11, ONE + "connections = 17\n", "5: [upstream a] connections = 17"),
        (12, ONE + "exports = relative\n", "5: [upstream a] exports = relative"),
        (13, ONE + "register = maybe\n", "5: [upstream a] register = maybe"),
        (14, ONE.replace("127.0.0.1:20491", "0.0.0.0:20491"), "4: [upstream a]"),
        (15, ONE.replace("127.0.0.1:20491", "localhost:20491"), "4: [upstream a]"),
        (16, "[upstream a]\nlisten = 127.0.0.1:1\n", "server"),
        (17, "[upstream a]\nserver = h\n", "listen"),
        (18, ONE + ONE, "5: [upstream a]"),
        (19, ONE + SECOND.replace("20491", "20493"), "6: [upstream b]"),
        (20, ONE + SECOND.replace("20490", "20494"), "8: [upstream b]"),
        (21, "", "upstream"),
        (22, "[upstream a!]\n" + ONE[13:], "1: [upstream a!]"),
        (23, "nonsense\n" + ONE, "1:"),
    ],
    ids=lambda v: str(v) if isinstance(v, int) else "",
)
def test_faults_of_a_file_are_named(tmp_path, number, text, words):
    code, out, err = check(tmp_path, text)
    assert (code, out) == (2, "")
    assert words in err
    assert all(x.startswith("FILE:") for x in err.splitlines()), err


def test_all_faults_are_named_at_once(tmp_path):
    text = ONE.replace("20490", "0") + "colour = blue\nregister = maybe\n"
    assert len(check(tmp_path, text)[2].splitlines()) == 3


def test_port_in_use(faultd):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
        code, out, err = run(
            "--upstream", f"127.0.0.1:/exp,port={faultd.port}",
            "--listen", f"127.0.0.1:{port}",
        )  # fmt: skip
    assert code == 1
    assert f"127.0.0.1:{port}" in err


# ---------------------------------------------------------------- running


def documented_counters():
    """From the manual page: members of an upstream."""
    path = os.path.join(TOP, "doc", "nfsgatherd.8")
    with open(path) as f:
        text = f.read().replace("\\\n", " ")
    text = text.split("The counters of an upstream count", 1)[1]
    text = text.split(".Ss Service manager", 1)[0]
    rows = re.findall(r"^\.It Cm (.*)$", text, re.M)
    return {name for row in rows for name in re.split(r"[ ,]+", row) if name}


def test_counters_are_those_of_the_manual(faultd, proxy):
    counters = proxy.counters()
    assert counters["version"] == 2
    assert set(counters) == {"version", "upstreams", "memory"}
    assert set(counters["memory"]) == {"limit_bytes", "buffers_bytes"}
    assert set(counters["upstreams"]) == {"default"}
    assert set(counters["upstreams"]["default"]) == documented_counters()


def test_counters_count(faultd, proxy, c):
    before = upstream_counters(proxy)
    assert before["client_write_commit_ratio"] is None
    fh = make_file(c)
    for i in range(6):
        c.write(fh, i * 100, bytes(100)).ok()
    c.write(fh, 0, bytes(50), 1).ok()
    c.write(fh, 0, bytes(50), 2).ok()
    c.commit(fh).ok()
    c.commit(fh).ok()
    c.read(fh, 0, 1000).ok()
    now = upstream_counters(proxy)
    assert now["client_writes"] == 8
    assert now["client_commits"] == 2
    assert now["client_forced_writes"] == 4
    assert now["client_calls"] == 13  # with MNT and CREATE
    assert 4 <= now["upstream_writes"] <= 8  # five were acked early and gathered
    assert now["upstream_commits"] == 1  # nothing was new to the second one
    assert now["upstream_forced_writes"] == 3
    for side in ("client", "upstream"):
        assert now[f"{side}_writes_stable"] == 2
        assert now[f"{side}_write_bytes"] == 700
        assert now[f"{side}_read_bytes"] == 600
    assert (now["writes_acked_early"], now["commits_local"]) == (5, 1)
    assert (now["dirty_bytes"], now["retained_bytes"]) == (0, 0)
    assert now["client_bytes_per_forced_write"] == pytest.approx(700 / 3, rel=1e-4)
    assert now["client_writes_per_forced_write"] == pytest.approx(8 / 3, rel=1e-3)
    assert now["client_write_commit_ratio"] == 4
    assert now["write_commit_ratio"] == now["upstream_writes"]
    reasons = now["upstream_write_reasons"]
    assert sum(reasons.values()) == now["upstream_writes"]
    assert reasons["stable"] == 2
    assert sum(now["upstream_commit_reasons"].values()) == 1
    sizes = now["histograms"]["client_write_size"]
    assert sizes == [[64, 2], [128, 6]]
    faultd.cmd("drop GETATTR after")
    c.getattr(fh).ok()
    now = upstream_counters(proxy)
    assert (now["upstream_resends"], now["upstream_reconnects"]) == (1, 1)


def test_counters_at_the_end(faultd):
    with Proxy(faultd) as proxy:
        with mounted(proxy) as c:
            make_file(c, data=b"data")
        last = proxy.stop()
        assert last["upstreams"]["default"]["client_writes"] == 1
        proxy.start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_when_asked_to(faultd, number):
    """With calls in progress: their clients see a closed connection, no error."""
    with Proxy(faultd) as proxy:
        with mounted(proxy) as c:
            faultd.cmd("hold GETATTR")
            c.start("getattr", c.root)
            faultd.cmd("wait GETATTR 1")
            proxy.process.send_signal(number)
            assert proxy.process.wait(20) == 0
            assert c.expect_closed() == b""
            with pytest.raises(ConnectionRefusedError):
                proxy.client()
        json.loads(proxy.process.stdout.read().splitlines()[-1])
        proxy.reap()
        proxy.start()


def test_unread_counters_do_not_stop_it(faultd, proxy, c):
    """Nobody reads its standard output."""
    for i in range(200):
        proxy.process.send_signal(signal.SIGUSR2)
        c.getattr(c.root).ok()
        if "could not be printed" in proxy.log():
            break
    assert proxy.wait_log("could not be printed").startswith("warn")
    c.getattr(c.root).ok()
    while b"\n" not in proxy.stdout or proxy.stdout.count(b"\n") < 2:
        proxy.stdout += os.read(proxy.process.stdout.fileno(), 1 << 20)
    proxy.stdout = b""


def test_sighup_checks_and_changes_nothing(faultd):
    port = free_port()
    conf = upstream_conf("a", faultd, port)
    with Proxy(conf=conf, port=port) as proxy, mounted(proxy) as c:
        path = os.path.join(proxy.folder, "nfsgather.conf")
        proxy.process.send_signal(signal.SIGHUP)
        proxy.wait_log("is valid; nothing was changed")
        with open(path, "a") as f:
            f.write("colour = blue\n")
        proxy.process.send_signal(signal.SIGHUP)
        proxy.wait_log('unknown key "colour"')
        proxy.wait_log("a restart would fail")
        c.getattr(c.root).ok()


def test_p9_two_upstreams_one_dead(faultd):
    dead, port, other = free_port(), free_port(20000, 26000), free_port(26000, 32000)
    conf = upstream_conf("alive", faultd, port)
    conf += upstream_conf("dead", faultd, other).replace(
        f"port = {faultd.port}", f"port = {dead}"
    )
    with Proxy(conf=conf, port=port) as proxy, mounted(proxy) as c:
        proxy.wait_log("upstream dead: down")
        with proxy.client() as x:
            x.null()
        fh = make_file(c, data=b"data")
        assert c.read_file(fh) == b"data"
        assert "upstream alive: down" not in proxy.log()
        counters = proxy.counters()["upstreams"]
        assert counters["alive"]["client_writes"] == 1
        assert counters["dead"]["client_writes"] == 0


def test_starts_with_a_million_descriptors_allowed(faultd):
    """Nothing is sized by that limit: idle, it stays small (measured without ASan)."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as e:
        pytest.skip(str(e))
    try:
        with Proxy(faultd) as proxy, mounted(proxy) as c:
            c.getattr(c.root).ok()
            with open(f"/proc/{proxy.process.pid}/status") as f:
                rss = int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1])
            with open(f"/proc/{proxy.process.pid}/maps") as f:
                sanitized = "libasan" in f.read()
            assert rss < (128 if sanitized else 32) * 1024
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# ---------------------------------------------------------------- service manager


def has_systemd():
    program = build_file("NFSGATHERD", "nfsgatherd")
    r = subprocess.run(["ldd", program], capture_output=True, text=True)
    return "libsystemd" in r.stdout


HAND_OVER = """
import os, sys
fds = [os.dup(int(fd)) for fd in sys.argv[1].split(",")]
for to, fd in enumerate(fds, 3):
    os.dup2(fd, to)
    os.set_inheritable(to, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
os.environ["LISTEN_FDNAMES"] = sys.argv[2]
os.execv(sys.argv[3], sys.argv[3:])
"""


class Activated(Proxy):
    """Started with listening sockets, as systemd does it."""

    sockets = ()
    names = ""

    def argv(self):
        fds = [str(s.fileno()) for s in self.sockets]
        words = [HAND_OVER, ",".join(fds), self.names]
        return [sys.executable, "-c", *words, *super().argv()]

    def spawn(self, argv, **kw):
        fds = [s.fileno() for s in self.sockets]
        return super().spawn(argv, pass_fds=fds, **kw)


@pytest.fixture
def listening():
    if not has_systemd():
        pytest.skip("built without libsystemd")
    with socket.create_server(("127.0.0.1", 0), backlog=16) as s:
        yield s


def test_socket_activation_by_address(faultd, listening):
    """While it restarts, a client waits instead of being refused."""
    port = listening.getsockname()[1]
    proxy = Activated(faultd, port=port)
    proxy.sockets = [listening]
    with proxy:
        with mounted(proxy) as c:
            fh = make_file(c, data=b"data")
        proxy.kill()
        with proxy.client() as c:  # connects to the queue of the socket
            xid = c.start("read", fh, 0, 10)
            proxy.start()
            assert c.finish(xid).ok().data == b"data"
        proxy.stop()
        with proxy.client() as c:
            xid = c.start("getattr", fh)
            proxy.start()
            c.finish(xid).ok()


def test_socket_activation_by_name(faultd, listening):
    """The section listens elsewhere; the name says whose the socket is."""
    port = free_port()
    conf = upstream_conf("named", faultd, port)
    proxy = Activated(conf=conf, port=port)
    proxy.sockets, proxy.names = [listening], "named"
    with proxy:
        with proxy.client() as c:
            c.mnt(EXPORT).ok()
        proxy.port = listening.getsockname()[1]
        with proxy.client() as c:
            c.mnt(EXPORT).ok()


def test_socket_activation_that_fits_nowhere(faultd, listening):
    port = free_port()
    proxy = Activated(conf=upstream_conf("a", faultd, port), port=port)
    proxy.sockets, proxy.names = [listening], "other"
    try:
        with pytest.raises(AssertionError, match="ended with [12]"):
            proxy.start()
        assert str(listening.getsockname()[1]) in proxy.log()
    finally:
        proxy.close(check=False)


def test_says_when_it_stops(faultd, tmp_path):
    path = str(tmp_path / "notify")
    port = free_port()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        notify.settimeout(20)
        process = subprocess.Popen(
            [build_file("NFSGATHERD", "nfsgatherd"),
             "--upstream", f"127.0.0.1:/exp,port={faultd.port}",
             "--listen", f"127.0.0.1:{port}"],
            env={**os.environ, "NOTIFY_SOCKET": path},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert b"READY=1" in notify.recv(4096).split(b"\n")
            process.terminate()
            assert b"STOPPING=1" in notify.recv(4096).split(b"\n")
            assert process.wait(20) == 0
        finally:
            process.kill()
            process.wait()


# ---------------------------------------------------------------- rpcbind

# In a network of its own, where nobody else uses port 111.
ALONE = """
mount -t tmpfs none /run && ip link set lo up && rpcbind && exec "$@"
"""
REGISTERED = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from harness import FaultServer, Proxy, upstream_conf
def say(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout
with FaultServer("--export", "/other") as faultd:
    conf = upstream_conf("a", faultd, 20490, register="yes", clients="127.0.0.1")
    with Proxy(conf=conf, port=20490) as proxy:
        print(say("rpcinfo", "-p"))
        for option in "-e", "-a":
            print(say("showmount", "--no-headers", option, "127.0.0.1"))
    print(say("rpcinfo", "-p"))
"""


def alone(script, support):
    tools = ("unshare", "rpcbind", "showmount", "rpcinfo", "ip")
    if os.geteuid() != 0 or not all(map(shutil.which, tools)):
        pytest.skip("needs root and " + ", ".join(tools))
    argv = ["unshare", "-n", "-m", "-p", "--fork", "--kill-child", "--mount-proc",
            "sh", "-c", ALONE, "sh", sys.executable, "-c", script, support]  # fmt: skip
    return subprocess.run(argv, capture_output=True, timeout=60, text=True)


def test_registers_with_rpcbind_and_showmount_finds_it():
    r = alone(REGISTERED, os.path.join(os.path.dirname(HERE), "support"))
    if r.returncode and "unshare" in r.stderr:
        pytest.skip(r.stderr)
    assert r.returncode == 0, r.stdout + r.stderr
    print(r.stdout)
    before, exports, mounts, after = r.stdout.split("\n\n")[:4]
    assert "100003    3   tcp  20490  nfs" in before
    assert exports.split() == ["/exp", "(everyone)"]
    assert "nfs" not in after
