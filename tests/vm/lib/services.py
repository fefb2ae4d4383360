"""What stands behind a guest's mount: an upstream, and our daemon in front of it."""
import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from . import rpc
from .guest import PATIENCE, Guest, die_with_parent

EXPORT = "/exp"
GANESHA = pathlib.Path(__file__).resolve().parents[2] / "support" / "ganesha.sh"


def ports_free(count):
    """Port numbers nobody listens on now."""
    socks = [socket.socket() for _ in range(count)]
    try:
        for sock in socks:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in socks]
    finally:
        for sock in socks:
            sock.close()


class ServiceError(Exception):
    def __init__(self, message, output=""):
        super().__init__(message)
        self.output = output


class Ganesha:
    """nfs-ganesha on loopback; its files are in `directory` on the host."""

    # It answers EIO to SETACL, so that "cp -p" fails on a mount with ACLs.
    mount_options = "noacl"

    def __init__(self, folder):
        self.folder = folder / "ganesha"
        self.directory = folder / "export"
        self.port, self.mount_port = ports_free(2)

    def _script(self, action):
        done = subprocess.run(
            [GANESHA, action, self.folder, self.directory, str(self.port),
             str(self.mount_port)],
            env=dict(os.environ, GANESHA_PSEUDO=EXPORT),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120 * PATIENCE, check=False,
        )  # fmt: skip
        if done.returncode:
            raise ServiceError(f"ganesha.sh {action} failed", done.stdout)

    def start(self):
        self._script("start")

    def stop(self):
        self._script("stop")

    def evidence(self):
        return ""


class Knfsd:
    """The kernel's nfsd in a guest, on a disk image that survives its crashes."""

    mount_options = "acl"
    OPTIONS = "rw,sync,insecure,no_root_squash,no_subtree_check"

    def __init__(self, image, folder, sockets, fstype="ext4", options=OPTIONS):
        self.fstype = fstype
        self.options = options
        self.port, self.mount_port = ports_free(2)
        disk = folder / "knfsd.img"
        with open(disk, "wb") as file:
            file.truncate(2 << 30)
        self.guest = Guest(
            "knfsd", image, folder, sockets, modules=["virtio_blk", "nfsd", "xfs"],
            memory=640, disk=disk,
            forwards={self.port: 2049, self.mount_port: 20048},
        )  # fmt: skip

    def start(self):
        self.guest.start()
        self.guest.run(f"knfsd-up {self.fstype} {self.options}", 60)
        wait_for_null(self.port, rpc.PROGRAM_NFS, 30)
        wait_for_null(self.mount_port, rpc.PROGRAM_MOUNT, 30)

    def crash(self):
        self.guest.kill()

    def stop(self):
        self.guest.kill()

    def evidence(self):
        return self.guest.evidence()


def wait_for_null(port, program, seconds):
    """Waits until the port answers a NULL call of the program."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        try:
            rpc.call(port, program, 3, 0)
            return
        except OSError as failure:
            if time.monotonic() > deadline:
                raise ServiceError(f"port {port} does not answer: {failure}") from None
            time.sleep(0.05)


class Proxy:
    """Our daemon in front of an upstream. Its port stays the same over restarts."""

    def __init__(self, binary, upstream, folder):
        self.binary = str(pathlib.Path(binary).resolve())
        self.upstream = upstream
        self.mount_options = upstream.mount_options
        (self.port,) = ports_free(1)
        self.mount_port = self.port
        self.log = folder / "nfsgatherd.log"
        self.out = folder / "nfsgatherd.out"
        self.process = None
        self.seen = collections.Counter()  # by daemons that were killed

    def _command(self):
        ports = f"port={self.upstream.port},mount_port={self.upstream.mount_port}"
        return [
            self.binary, "--upstream", f"127.0.0.1:{EXPORT},{ports}",
            "--listen", f"127.0.0.1:{self.port}",
            "--clients", "127.0.0.1(rw,insecure)",
        ]  # fmt: skip

    def start(self, seconds=20):
        """Returns once the daemon has said READY=1."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            # An abstract name: nothing to remove, and no limit on folder names.
            notify.bind(f"\0nfsgather-test-{os.getpid()}-{self.port}")
            name = "@" + notify.getsockname()[1:].decode()
            with open(self.log, "ab") as log, open(self.out, "ab") as out:
                self.process = subprocess.Popen(
                    self._command(), stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                    env=dict(os.environ, NOTIFY_SOCKET=name),
                    preexec_fn=die_with_parent,
                )  # fmt: skip
            deadline = time.monotonic() + seconds * PATIENCE
            notify.settimeout(0.2)
            while True:
                try:
                    if b"READY=1" in notify.recv(4096).split(b"\n"):
                        return
                except TimeoutError:
                    pass
                if self.process.poll() is not None:
                    raise ServiceError(f"nfsgatherd ended: {self.process.returncode}")
                if time.monotonic() > deadline:
                    raise ServiceError(f"nfsgatherd not ready after {seconds} s")

    def counters(self, seconds=10):
        """Asks for the counters: one JSON line on stdout after SIGUSR2."""
        had = self.out.stat().st_size
        self.process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            fresh = self.out.read_bytes()[had:]
            if b"\n" in fresh:
                return json.loads(fresh.split(b"\n", 1)[0])
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServiceError("nfsgatherd gave no counters after SIGUSR2")
            time.sleep(0.05)

    def totals(self):
        """The counters of the upstream, all daemons together. What a killed one did
        between its last report and its end is missing."""
        seen = self.seen.copy()
        if self.process is not None:
            seen.update(self._upstream_counters())
        return seen

    def _upstream_counters(self):
        (upstream,) = self.counters()["upstreams"].values()
        return {name: n for name, n in upstream.items() if isinstance(n, int)}

    def crash(self):
        self.seen.update(self._upstream_counters())
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self, seconds=30):
        """Ends it in good order; that it fails to is a failure of the test."""
        if self.process is None:
            return
        process, self.process = self.process, None
        if process.poll() is None:
            process.terminate()
        try:
            status = process.wait(seconds * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise ServiceError(f"nfsgatherd alive {seconds} s after SIGTERM") from None
        if status:
            raise ServiceError(f"nfsgatherd ended with status {status}")

    def evidence(self):
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return "nfsgatherd, end of its log:\n" + "\n".join(lines[-40:]) + "\n"

