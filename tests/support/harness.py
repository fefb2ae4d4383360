"""Starts and stops what protocol tests need: the fault server and the daemon.

As fixtures (import them into a conftest.py or a test module):

    from harness import faultd, proxy  # noqa: F401

    def test_x(faultd, proxy):
        with proxy.client() as c:
            root = c.mnt("/exp").ok().fh
            faultd.cmd("hold COMMIT")
            ...

or as classes, FaultServer and Proxy, both context managers. Nothing here sleeps for
luck: readiness comes from what the programs say themselves. What a test leaves behind
is judged at its end: the daemon must still live, end with 0 when asked to, and must
have sent the fault server nothing that breaks the protocol. Logs are printed at the
end of every test; pytest shows them when the test failed.

Environment: BUILDDIR (default: the current folder) has nfsgatherd and
tests/support/faultd; NFSGATHERD and FAULTD override each.
"""

import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
from nfs3_client import FILE_SYNC, Client

START_TIMEOUT = 20
STOP_TIMEOUT = 20
LOG_TAIL_LINES = 150
EXPORT = "/exp"


class HarnessError(AssertionError):
    """A program under test did not start, answer or stop as it must."""


def build_file(env, *parts):
    path = os.environ.get(env) or os.path.join(os.environ.get("BUILDDIR", "."), *parts)
    if not os.access(path, os.X_OK):
        raise HarnessError(f"{path} is not there; set BUILDDIR or {env}")
    return os.path.abspath(path)


def free_port(low=20000, high=32000):
    """A port nobody listens on, outside the range that outgoing connections use."""
    for _ in range(200):
        port = random.randrange(low, high)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise HarnessError("no free port")


def wait_until(predicate, timeout=20, what="condition"):
    """Polls for what no event tells; returns the first true value."""
    end = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise HarnessError(f"{what} did not come true in {timeout} s")
        time.sleep(0.005)


def log_tail(path):
    try:
        with open(path, errors="replace") as f:
            lines = f.readlines()
    except OSError as e:
        return str(e)
    return "".join(lines[-LOG_TAIL_LINES:])


class Program:
    """A process with its own folder, its log and a watch on its life."""

    name = "program"

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix=f"{self.name}-")
        self.log_path = os.path.join(self.folder, "log")
        self.process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        self.close(check=kind is None)

    def start(self):
        raise NotImplementedError

    def spawn(self, argv, **kw):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(argv, stderr=log, **kw)
        self.pidfd = os.pidfd_open(self.process.pid)
        return self

    def wait_readable(self, fd, timeout, what):
        """Until fd is readable; the death of the process or the timeout is an error."""
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        poll.register(self.pidfd, select.POLLIN)
        ready = [f for f, _ in poll.poll(timeout * 1000)]
        if fd not in ready:
            why = f"ended with {self.process.wait()}" if ready else f"{timeout} s over"
            raise HarnessError(f"{self.name}: {what}: {why}\n{log_tail(self.log_path)}")

    def running(self):
        return self.process is not None and self.process.poll() is None

    def check_alive(self):
        if not self.running():
            code = self.process.returncode if self.process else None
            raise HarnessError(
                f"{self.name} died with {code}\n{log_tail(self.log_path)}"
            )

    def kill(self):
        """As a crash would."""
        if self.process:
            self.process.kill()
        self.reap()

    def reap(self):
        if not self.process:
            return None
        try:
            code = self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "no end"
        for f in (self.process.stdin, self.process.stdout):
            if f:
                f.close()
        os.close(self.pidfd)
        self.process = None
        return code

    def stop(self):
        raise NotImplementedError

    def close(self, check=True):
        """Ends everything; check: as it must have been (see stop)."""
        try:
            if self.process and check:
                self.check_alive()
                self.stop()
        finally:
            self.kill()
            print(f"---- log of {self.name}\n{log_tail(self.log_path)}", end="")
            shutil.rmtree(self.folder, ignore_errors=True)


class FaultServer(Program):
    """faultd with its control socket. See README.md beside this for the commands."""

    name = "faultd"

    def __init__(self, *options, export=EXPORT, port=0):
        super().__init__()
        self.options = list(options)
        self.export = export
        self.port = port
        self.control = os.path.join(self.folder, "control")
        self.expect_violations = False

    def start(self):
        self.spawn(
            [
                build_file("FAULTD", "tests", "support", "faultd"),
                "--port", str(self.port), "--control", self.control,
                "--export", self.export, "--watch-stdin", *self.options,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.wait_readable(self.process.stdout.fileno(), START_TIMEOUT, "start")
        words = self.process.stdout.readline().decode().split()
        if words[:1] != ["listening"]:
            code = self.process.wait(STOP_TIMEOUT)
            raise HarnessError(f"faultd ended with {code}\n{log_tail(self.log_path)}")
        self.port = int(words[1])
        return self

    def cmd(self, line, timeout=60):
        """Runs one command; returns what follows "ok". Each call has a connection
        of its own, so a `wait` of one thread does not block the others."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(timeout)
            s.connect(self.control)
            s.sendall(line.encode() + b"\n")
            with s.makefile("rb") as f:
                answer = f.readline().decode().rstrip("\n")
        word, _, rest = answer.partition(" ")
        if word != "ok":
            raise HarnessError(f"faultd: {line!r}: {answer or 'no answer'}")
        return rest

    def json(self, line):
        return json.loads(self.cmd(line))

    def stats(self):
        return self.json("stats")

    def calls(self, proc="any"):
        """The ring of calls, oldest first, as dictionaries."""
        return self.json(f"calls {proc}")

    def conns(self):
        return self.json("conns")

    def file(self, path):
        """Of "a/b" below the export: size, stable_size, crc, stable_crc, dirty, ..."""
        return self.json(f"file {self.export}/{path}")

    def dump(self, path, visible=False):
        """The stable (or visible) bytes of a file below the export."""
        to = os.path.join(self.folder, "dump")
        self.cmd(f"dump {self.export}/{path} {to}" + (" visible" if visible else ""))
        with open(to, "rb") as f:
            return f.read()

    def client(self, **kw):
        return Client(self.port, **kw)

    def stop(self):
        stats = self.stats()
        self.cmd("quit")
        code = self.reap()
        if code != 0:
            raise HarnessError(f"faultd ended with {code}\n{log_tail(self.log_path)}")
        if stats["violations"] and not self.expect_violations:
            raise HarnessError(
                f"faultd got {stats['violations']} violations, last: "
                f"{stats['last_violation']}"
            )


class Proxy(Program):
    """nfsgatherd in front of one FaultServer (or host and port).

    conf: text of a whole configuration file; None: one upstream by command line.
    options: more command-line words; env: more environment."""

    name = "nfsgatherd"

    def __init__(self, upstream=None, port=None, conf=None, options=(), env=None,
                 clients="127.0.0.1(rw,insecure)"):  # fmt: skip
        super().__init__()
        self.upstream = upstream
        self.port = port or free_port()
        self.conf = conf
        self.options = list(options)
        self.env = env or {}
        self.clients = clients
        self.stdout = b""

    def argv(self):
        program = build_file("NFSGATHERD", "nfsgatherd")
        if self.conf is not None:
            path = os.path.join(self.folder, "nfsgather.conf")
            with open(path, "w") as f:
                f.write(self.conf)
            return [program, "-c", path, *self.options]
        up = self.upstream
        return [
            program,
            "--upstream", f"127.0.0.1:{up.export},port={up.port},mount_port={up.port}",
            "--listen", f"127.0.0.1:{self.port}",
            "--clients", self.clients, *self.options,
        ]  # fmt: skip

    def start(self):
        """Starts (also again, after kill) and waits for READY=1."""
        self.stdout = b""
        path = os.path.join(self.folder, "notify")
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            env = {**os.environ, **self.env, "NOTIFY_SOCKET": path}
            self.spawn(
                self.argv(), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env
            )
            end = time.monotonic() + START_TIMEOUT
            said = b""
            while b"READY=1" not in said.split(b"\n"):
                left = max(0, end - time.monotonic())
                self.wait_readable(notify.fileno(), left, "start")
                said = notify.recv(4096)
        return self

    def client(self, **kw):
        return Client(self.port, **kw)

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def wait_log(self, text, timeout=20):
        """Until the log has the text; returns the first line with it."""

        def find():
            self.check_alive()
            return next((li for li in self.log().splitlines() if text in li), None)

        return wait_until(find, timeout, f"log line with {text!r}")

    def read_line(self, timeout=10):
        """The next line of its standard output."""
        end = time.monotonic() + timeout
        fd = self.process.stdout.fileno()
        while b"\n" not in self.stdout:
            left = max(0, end - time.monotonic())
            self.wait_readable(fd, left, "line on standard output")
            got = os.read(fd, 65536)
            if not got:
                raise HarnessError("nfsgatherd closed its standard output")
            self.stdout += got
        line, self.stdout = self.stdout.split(b"\n", 1)
        return line.decode()

    def counters(self):
        """Its counters, asked for by SIGUSR2."""
        self.process.send_signal(signal.SIGUSR2)
        return json.loads(self.read_line())

    def stop(self):
        """SIGTERM; must end with 0. Returns the counters it printed at its end."""
        self.process.send_signal(signal.SIGTERM)
        out, fd = self.stdout, self.process.stdout.fileno()
        end = time.monotonic() + STOP_TIMEOUT
        while select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            got = os.read(fd, 65536)
            if not got:
                break
            out += got
        code = self.reap()
        if code != 0:
            raise HarnessError(f"{self.name} ended with {code}\n{self.log()}")
        lines = [line for line in out.decode().splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else None


def upstream_conf(name, up, port, host="127.0.0.1", **keys):
    """An [upstream] section for a FaultServer, for Proxy(conf=...)."""
    section = {
        "server": "127.0.0.1",
        "port": up.port,
        "mount_port": up.port,
        "listen": f"{host}:{port}",
        "exports": up.export,
        "clients": "127.0.0.1(rw,insecure)",
        **keys,
    }
    lines = [f"[upstream {name}]"] + [f"{k} = {v}" for k, v in section.items()]
    return "\n".join(lines) + "\n"


@pytest.fixture
def faultd():
    """A fresh fault server with the export /exp."""
    server = FaultServer()
    try:
        server.start()
        yield server
    except BaseException:
        server.close(check=False)
        raise
    server.close()


@pytest.fixture
def proxy(faultd):
    """The daemon in front of the fixture `faultd`, ready."""
    daemon = Proxy(faultd)
    try:
        daemon.start()
        yield daemon
    except BaseException:
        daemon.close(check=False)
        raise
    daemon.close()


@pytest.fixture
def direct(faultd):
    """A client of the fault server itself; its `root` is the handle of /exp."""
    with faultd.client() as client:
        client.root = client.mnt(faultd.export).ok().fh
        yield client


def make_file(client, name="f", data=b"", stable=FILE_SYNC):
    """A file of mode 0666 in client.root; returns its handle."""
    fh = client.create(client.root, name, mode=0o666).ok().fh
    if data:
        client.write(fh, 0, data, stable).ok()
    return fh


def pattern(n, seed=1):
    """n bytes without a short period."""
    return bytes((i * 7 + i // 251 + seed) & 0xFF for i in range(n))
