"""A virtual machine with a real kernel, and a way to run scripts inside it.

Each guest has three channels (virtio-serial ports, unix sockets on the host) with an
agent behind each, so a script that hangs leaves a channel for asking the guest why:
MAIN for steps, SIDE for what runs beside them, ASK for evidence after a failure.

The hard case: nothing may outlive the test. A guest is a child that the kernel kills
when its parent dies, its output goes to files, and every wait has a deadline.
"""
import base64
import ctypes
import itertools
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import threading
import time

MAIN, SIDE, ASK = range(3)
# Every deadline is what a quiet host needs, times this; a shared one can be much slower.
PATIENCE = float(os.environ.get("NFSGATHER_VM_PATIENCE", "3"))
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class GuestError(Exception):
    """A script failed, or could not be run to its end; output is what it said."""

    def __init__(self, message, output=""):
        super().__init__(message)
        self.output = output


def die_with_parent():
    """For preexec_fn: no child of the tests outlives a killed test process."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Channel:
    """One agent in the guest; runs one script at a time."""

    _ids = itertools.count(1)

    def __init__(self, path):
        self.path = path
        self.sock = None
        self.rest = b""

    def _connect(self, deadline):
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(self.path)
                self.sock = sock
                return
            except OSError:
                sock.close()
                if time.monotonic() > deadline:
                    raise GuestError(f"no connection to {self.path}") from None
                time.sleep(0.05)

    def _read_line(self, deadline):
        while b"\n" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self.sock.settimeout(left)
            data = self.sock.recv(65536)
            if not data:
                raise EOFError
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode(errors="replace")

    def run(self, script, seconds, on_line=None):
        """Runs a bash script; returns (status, output)."""
        deadline = time.monotonic() + seconds
        output = []
        script_id = str(next(self._ids))
        try:
            if self.sock is None:
                self._connect(deadline)
            body = base64.b64encode(script.encode()).decode()
            self.sock.settimeout(seconds)
            self.sock.sendall(f"R {script_id} {body}\n".encode())
            while True:
                verb, _, rest = self._read_line(deadline).partition(" ")
                line_id, _, text = rest.partition(" ")
                if line_id != script_id:
                    continue
                if verb == "X":
                    return int(text), "".join(line + "\n" for line in output)
                output.append(text)
                if on_line:
                    on_line(text)
        except TimeoutError:
            why = f"not done after {seconds:.0f} s"
        except (EOFError, OSError):
            why = "the guest is gone"
        raise GuestError(why, "".join(line + "\n" for line in output))

    def close(self):
        if self.sock is not None:
            self.sock.close()
        self.sock = None
        self.rest = b""


class Background:
    """A script that runs beside the steps; its lines can be waited for."""

    def __init__(self, channel, script, seconds):
        self.lines = []
        self.failure = None
        self.status = None
        self._fresh = queue.Queue()
        self._thread = threading.Thread(
            target=self._run, args=(channel, script, seconds), daemon=True
        )
        self._thread.start()

    def _on_line(self, line):
        self.lines.append(line)
        self._fresh.put(line)

    def _run(self, channel, script, seconds):
        try:
            self.status, _ = channel.run(script, seconds, self._on_line)
        except GuestError as failure:
            self.failure = failure
        self._fresh.put(None)

    def _end(self):
        what = self.failure or f"exit status {self.status}"
        return GuestError(f"background script ended: {what}", "\n".join(self.lines))

    def wait_until(self, done, seconds):
        """Returns once done(line) is true for a line that no wait has seen yet."""
        deadline = time.monotonic() + seconds * PATIENCE
        while True:
            try:
                line = self._fresh.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise GuestError(
                    f"nothing as awaited within {seconds} s", "\n".join(self.lines)
                ) from None
            if line is None:
                raise self._end()
            if done(line):
                return line

    def wait_end(self, seconds):
        self._thread.join(seconds * PATIENCE)
        if self._thread.is_alive():
            raise GuestError(f"not done after {seconds} s", "\n".join(self.lines))
        if self.failure or self.status:
            raise self._end()


class Guest:
    """One machine. `forwards` maps ports of the host's loopback to ports of the guest,
    `disk` is a raw image that becomes /dev/vda, `inetd` maps ports of 10.0.2.100, as
    the guest sees it, to commands of the host (one process per connection)."""

    def __init__(self, name, image, folder, sockets, **options):
        self.name = name
        self.image = pathlib.Path(image)
        self.console = pathlib.Path(folder) / f"{name}.console"
        self.log = pathlib.Path(folder) / f"{name}.qemu"
        self.modules = options.pop("modules", ())
        self.memory = options.pop("memory", 768)
        self.disk = options.pop("disk", None)
        self.forwards = options.pop("forwards", {})
        self.inetd = options.pop("inetd", {})
        if options:
            raise TypeError(f"unknown options: {options}")
        paths = [f"{sockets}/{name}.{i}" for i in range(3)]
        self.channels = [Channel(path) for path in paths]
        self.process = None

    def _command(self):
        accel = os.environ.get("NFSGATHER_VM_ACCEL", "tcg,thread=multi")
        net = "user,id=n0" + "".join(
            f",hostfwd=tcp:127.0.0.1:{host}-:{port}"
            for host, port in self.forwards.items()
        )
        for port, command in self.inetd.items():
            net += f",guestfwd=tcp:10.0.2.100:{port}-cmd:{command}"
        words = f"console=ttyS0 quiet panic=-1 mitigations=off guest.host={self.name}"
        if self.modules:
            words += " guest.modules=" + ",".join(self.modules)
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-reboot", "-M", "q35",
            "-accel", accel, "-cpu", "max", "-smp", "2", "-m", str(self.memory),
            "-kernel", str(self.image / "vmlinuz"),
            "-initrd", str(self.image / "initrd"), "-append", words,
            "-display", "none", "-monitor", "none",
            "-chardev", f"file,id=console,path={self.console},append=on",
            "-serial", "chardev:console",
            "-netdev", net, "-device", "virtio-net-pci,netdev=n0",
            "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
        ]  # fmt: skip
        for i, channel in enumerate(self.channels):
            command += [
                "-chardev", f"socket,id=c{i},path={channel.path},server=on,wait=off",
                "-device", f"virtserialport,chardev=c{i},nr={i + 1}",
            ]  # fmt: skip
        if self.disk:
            # Writeback: a flush of the guest reaches the image before it is answered,
            # and what the guest had only in memory dies with it.
            drive = f"file={self.disk},format=raw,if=none,id=d0,cache=writeback"
            command += ["-drive", drive, "-device", "virtio-blk-pci,drive=d0"]
        return command

    def start(self, seconds=120):
        """Boots; returns when the agent has answered."""
        if not shutil.which("qemu-system-x86_64"):
            raise GuestError("qemu-system-x86_64 is missing (qemu-system-x86)")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self._command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=die_with_parent,
            )  # fmt: skip
        try:
            self.run("true", seconds)
        except GuestError as failure:
            failure.output += self.log.read_text() + self.console_tail()
            raise

    def run(self, script, seconds, channel=MAIN):
        """Runs a bash script that must succeed; returns its output."""
        status, output = self.channels[channel].run(script, seconds * PATIENCE)
        if status:
            raise GuestError(f"{self.name}: exit status {status}", output)
        return output

    def spawn(self, script, seconds):
        return Background(self.channels[SIDE], script, seconds * PATIENCE)

    def kill(self):
        """Power off without warning: what was only in its memory is lost."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None
        for channel in self.channels:
            channel.close()

    def cpu_seconds(self):
        """CPU time this machine has used up: steadier than the clock on a busy host."""
        if self.process is None:
            return 0.0
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                words = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def console_tail(self):
        try:
            lines = self.console.read_text(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-40:]) + "\n"

    def evidence(self):
        """What a failed step is explained with."""
        if self.process is None or self.process.poll() is not None:
            return f"guest {self.name} is down; console:\n{self.console_tail()}"
        try:
            text = self.run(
                "dmesg | sed '1,/Run .init as/d' | tail -n 60; echo;"
                " ps -o pid,stat,args | grep -v ' [[]' | tail -n 30;"
                " grep -w nfs /proc/mounts || true",
                20,
                channel=ASK,
            )
        except GuestError as failure:
            text = f"{failure}\n{failure.output}{self.console_tail()}"
        return f"guest {self.name}, dmesg and processes:\n{text}"
