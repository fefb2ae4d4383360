"""The set-up of one scenario: its folder, its services and guests, its table of steps.

A scenario is a function that gets a Bench. It starts things through it, does its work
in `with bench.step(NAME):` blocks and raises to fail. The bench stops everything it
started in any case, keeps the folder when something failed, and says what failed.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import mountstats
from .guest import ASK, Guest, GuestError, die_with_parent
from .services import EXPORT, Ganesha, Knfsd, Proxy, ServiceError

MOUNT_POINT = "/mnt"
CAPTURE_FILES, CAPTURE_FILE_MB = 8, 8
NO_TCPDUMP = "no packets are captured: there is no tcpdump"


def image_build():
    """The folder with kernel and initramfs; built when it is not there."""
    done = subprocess.run(
        [pathlib.Path(__file__).resolve().parents[1] / "image"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit("tests/vm/image failed")
    return done.stdout.strip()


class Skip(Exception):
    """The scenario has nothing to show in this mode."""


class CheckError(Exception):
    """A comparison came out wrong."""

    def __init__(self, message, output=""):
        super().__init__(message)
        self.output = output


FAILURES = (GuestError, ServiceError, CheckError, subprocess.SubprocessError, OSError)


class Bench:
    def __init__(self, name, options, image):
        self.name = name
        self.options = options
        self.image = image
        base = os.environ.get("NFSGATHER_RESULTS") or tempfile.gettempdir()
        os.makedirs(base, exist_ok=True)
        self.folder = pathlib.Path(
            tempfile.mkdtemp(prefix=f"nfsgather-vm-{name}-", dir=base)
        )
        # Unix socket names are limited to 107 bytes, so they get a short folder.
        self.sockets = tempfile.mkdtemp(prefix="ngvm-", dir="/tmp")
        self.started = []
        self.guests = []
        self.rows = []
        self.failed = False
        self.notes = []

    @property
    def quick(self):
        return self.options.quick

    def say(self, text):
        print(text, flush=True)

    def note(self, text):
        """A line below the table."""
        self.notes.append(text)

    # Steps

    @contextlib.contextmanager
    def step(self, name):
        """One row of the table; the block may set what the row says (its item 0)."""
        begin, cpu_begin = time.monotonic(), self._cpu_seconds()
        result = ["ok"]
        try:
            yield result
        except FAILURES as failure:
            self._row_add(name, begin, cpu_begin, "FAILED")
            self.explain(name, failure)
            raise
        self._row_add(name, begin, cpu_begin, result[0])

    def _cpu_seconds(self):
        return sum(guest.cpu_seconds() for guest in self.guests)

    def _row_add(self, name, begin, cpu_begin, result):
        if not self.rows:
            self.say(f"{'step':<24} {'seconds':>8} {'cpu':>8}  result")
        seconds = time.monotonic() - begin
        cpu = self._cpu_seconds() - cpu_begin
        self.rows.append((name, seconds, cpu, result))
        self.say(f"{name:<24} {seconds:>8.1f} {cpu:>8.1f}  {result}")

    def explain(self, name, failure):
        self.failed = True
        self.say(f"\n--- {self.name}, step {name}: {failure}")
        text = getattr(failure, "output", "")
        if text:
            (self.folder / "failed-step.output").write_text(text)
            lines = text.rstrip("\n").split("\n")
            if len(lines) > 60:
                self.say(f"(the last 60 of {len(lines)} lines)")
            self.say("\n".join(lines[-60:]))
        for item in [*self.guests, *self.started]:
            evidence = item.evidence()
            if evidence:
                self.say(f"--- {evidence}")
        self.say("---")

    # Services and guests

    def start(self, service):
        self.started.append(service)
        service.start()
        return service

    def ganesha(self):
        upstream = Ganesha(self.folder)
        with self.step("start ganesha"):
            self.start(upstream)
        self.capture(upstream.port)
        return upstream

    def knfsd(self, **options):
        upstream = Knfsd(self.image, self.folder, self.sockets, **options)
        with self.step("boot knfsd"):
            self.start(upstream)
        self.capture(upstream.port)
        return upstream

    def front(self, upstream):
        """What the client mounts: our daemon if there is one, else the upstream."""
        if not self.options.proxy:
            return upstream
        proxy = Proxy(self.options.proxy, upstream, self.folder)
        with self.step("start nfsgatherd"):
            self.start(proxy)
        self.capture(proxy.port)
        return proxy

    def client(self, name="client1", memory=768, **options):
        guest = Guest(
            name, self.image, self.folder, self.sockets, memory=memory,
            modules=["nfsv3", "nfsv4"], **options,
        )  # fmt: skip
        with self.step(f"boot {name}"):
            self.guests.append(guest)
            guest.start()
        return guest

    def mount(self, guest, front, path=EXPORT, extra=None):
        """Mounts on MOUNT_POINT; hard mount, as applications have it."""
        options = f"vers=3,tcp,nolock,{front.mount_options}"
        if extra:
            options += f",{extra}"
        ports = f"port={front.port},mountport={front.mount_port},mountproto=tcp"
        guest.run(
            f"mount -t nfs -o {options},{ports} 10.0.2.2:{path} {MOUNT_POINT}", 60
        )

    def capture(self, port):
        """Packets of this port into the folder: the last of them, and the first bytes
        of each, so that long runs do not fill the disk. The folder is kept when
        something fails."""
        if not shutil.which("tcpdump"):
            if NO_TCPDUMP not in self.notes:
                self.note(NO_TCPDUMP)
            return
        log = open(self.folder / "tcpdump.log", "ab")
        process = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-U", "-s", "512", "-Z", "root",
             "-C", str(CAPTURE_FILE_MB), "-W", str(CAPTURE_FILES),
             "-w", self.folder / f"port-{port}.pcap", "tcp", "port", str(port)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=die_with_parent,
        )  # fmt: skip
        log.close()
        self.started.append(_Process(process))

    def mount_stats(self, guest):
        return guest.run("cat /proc/self/mountstats", 20, channel=ASK)

    def mount_counts(self, guest):
        return mountstats.operations(self.mount_stats(guest), MOUNT_POINT)

    # The end

    def close(self):
        """Stops everything, last started first; a service that will not end in good
        order is a failure."""
        for guest in self.guests:
            guest.kill()
        for service in reversed(self.started):
            try:
                service.stop()
            except FAILURES as failure:
                if not self.failed:
                    self.explain("stop", failure)
                self.failed = True
        shutil.rmtree(self.sockets, ignore_errors=True)

    def finish(self, skipped=False):
        """Prints what is known; keeps or removes the folder."""
        if skipped:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for line in self.notes:
            self.say(line)
        total = sum(row[1] for row in self.rows)
        cpu = sum(row[2] for row in self.rows)
        result = "FAILED" if self.failed else "ok"
        load = os.getloadavg()[1]
        self.say(
            f"{self.name}: {result}, {total:.1f} s, {cpu:.1f} s of client CPU"
            f" (load {load:.1f} on {os.cpu_count()} processors)"
        )
        if self.failed or self.options.keep:
            self.say(f"results kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


class _Process:
    """A helper process that ends with the scenario."""

    def __init__(self, process):
        self.process = process

    def evidence(self):
        return ""

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def on_signals_exit():
    """A signal ends the run through the same clean-up as a failure."""

    def leave(number, _frame):
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)

