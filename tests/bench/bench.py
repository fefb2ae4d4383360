"""What stands between the load generator and the fault server, and one measurement.

Everything runs on loopback, on ports of its own, and ends with the `with` block that
started it. BUILDDIR has nfsgatherd, tests/support/faultd and tests/bench/nfsload.
"""

import ctypes
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

# pylint: disable=wrong-import-position
from harness import Program, build_file, free_port, wait_until  # noqa: E402

RUN_TIMEOUT = 300
PR_SET_PDEATHSIG = 1


class BenchError(Exception):
    """A part could not be started, or a run failed."""


def die_with_parent():
    """In a child before exec: it does not outlive a bench that was killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def is_open(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Haproxy(Program):
    """haproxy in TCP mode, one thread, in front of one port: the measure of what a
    proxy in user space costs that does not look at what it carries."""

    name = "haproxy"

    def __init__(self, upstream_port, buffer_bytes=None):
        super().__init__()
        self.port = free_port()
        self.upstream_port = upstream_port
        self.buffer_bytes = buffer_bytes

    def start(self):
        program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
        if program is None:
            raise BenchError("haproxy is not installed (Debian: haproxy)")
        conf = os.path.join(self.folder, "haproxy.cfg")
        buffers = f"tune.bufsize {self.buffer_bytes}" if self.buffer_bytes else ""
        with open(conf, "w") as f:
            f.write(
                f"global\n maxconn 256\n nbthread 1\n {buffers}\n"
                "defaults\n mode tcp\n"
                " timeout connect 5s\n timeout client 1h\n timeout server 1h\n"
                f"listen nfs\n bind 127.0.0.1:{self.port}\n"
                f" server upstream 127.0.0.1:{self.upstream_port}\n"
            )
        self.spawn(
            [program, "-db", "-f", conf],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )  # fmt: skip
        wait_until(lambda: not self.running() or is_open(self.port), what="haproxy")
        self.check_alive()
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.reap()


class Nfsgatherd(Program):
    """Our daemon in front of one port. descriptors: its RLIMIT_NOFILE; program: another
    build of it."""

    name = "nfsgatherd"

    def __init__(self, upstream_port, export, descriptors=None, program=None):
        super().__init__()
        self.program = program or build_file("NFSGATHERD", "nfsgatherd")
        self.port = free_port()
        self.upstream_port = upstream_port
        self.export = export
        self.descriptors = descriptors

    def before_exec(self):
        die_with_parent()
        if self.descriptors:
            both = (self.descriptors, self.descriptors)
            resource.setrlimit(resource.RLIMIT_NOFILE, both)

    def start(self):
        up = self.upstream_port
        path = os.path.join(self.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            self.spawn(
                [
                    self.program,
                    "--upstream", f"127.0.0.1:{self.export},port={up},mount_port={up}",
                    "--listen", f"127.0.0.1:{self.port}",
                    "--clients", "127.0.0.1(rw,insecure)",
                ],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                env={**os.environ, "NOTIFY_SOCKET": path}, preexec_fn=self.before_exec,
            )  # fmt: skip
            said = b""
            while b"READY=1" not in said.split(b"\n"):
                self.wait_readable(notify.fileno(), RUN_TIMEOUT, "start")
                said = notify.recv(4096)
        return self

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.reap()
        if code != 0:
            raise BenchError(f"nfsgatherd ended with {code}")


def memory(pid):
    """Resident and peak resident bytes of a process."""
    found = {}
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            key, _, value = line.partition(":")
            if key in ("VmRSS", "VmHWM"):
                found[key] = int(value.split()[0]) * 1024
    return found["VmRSS"], found["VmHWM"]


def load(words, port, pid=None):
    """Runs nfsload; returns what it measured. pid: whose use of the processor to tell."""
    argv = [build_file("NFSLOAD", "tests", "bench", "nfsload"), "--port", str(port)]
    if pid:
        argv += ["--watch", str(pid)]
    done = subprocess.run(
        argv + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=RUN_TIMEOUT, check=False,
        preexec_fn=die_with_parent,
    )  # fmt: skip
    if done.returncode:
        raise BenchError(f"{' '.join(argv + words)}: {done.stderr.strip()}")
    return json.loads(done.stdout)
