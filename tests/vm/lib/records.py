"""A client that writes checksummed records and is told by fsync() which are safe, while
something behind its mount is killed; then the promised records are looked for.

The guest's program `records` does the writing and checking (guest/records.c)."""
import pathlib
import re
import subprocess

from .bench import MOUNT_POINT, CheckError
from .guest import PATIENCE, GuestError

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "guest" / "records.c"

RECORD_BYTES, BATCH = 128 * 1024, 8
STOP = "/tmp/records.stop"


class Writer:
    """`files` processes, each appending batches to its own file and calling fsync."""

    def __init__(self, guest, directory, files=4, seconds=900):
        self.guest = guest
        self.directory = directory
        self.files = files
        self.promised = dict.fromkeys(range(files), 0)
        guest.run(f"rm -f {STOP}; mkdir -p {directory}", 30)
        self.job = guest.spawn(
            f"records write {directory} {files} {RECORD_BYTES} {BATCH} {STOP}", seconds
        )

    def _take(self, line):
        found = re.fullmatch(r"synced (\d+) (\d+)", line)
        if not found:
            raise CheckError(f"the writer says: {line}", "\n".join(self.job.lines))
        self.promised[int(found[1])] = int(found[2])

    def advance(self, batches, seconds):
        """Waits until every file has that many more batches promised."""
        goal = {file: n + batches * BATCH for file, n in self.promised.items()}

        def reached(line):
            self._take(line)
            return all(self.promised[file] >= goal[file] for file in goal)

        self.job.wait_until(reached, seconds)

    def finish(self, seconds=120):
        """Ends the writer; every record it wrote is promised then."""
        self.guest.run(f"touch {STOP}", 30)
        self.job.wait_end(seconds)
        self.drain()

    def drain(self):
        """Takes note of the promises that have arrived but were not waited for."""
        for line in list(self.job.lines):
            self._take(line)


def _check_command(directory, file, count):
    sizes = f"{RECORD_BYTES} {BATCH} {count}"
    return f"records check {directory} {file} {sizes}"


def check(guest, directory, promised):
    """Every promised record is there, read by that guest."""
    output, bad = "", False
    for file, count in promised.items():
        try:
            output += guest.run(_check_command(directory, file, count), 120)
        except GuestError as failure:
            output += failure.output or str(failure)
            bad = True
    if bad:
        raise CheckError("promised records are missing", output)


def check_on_host(bench, directory, promised):
    """As check(), over files of this host."""
    program = bench.folder / "records"
    subprocess.run(
        ["gcc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-o", program, SOURCE],
        check=True, timeout=60 * PATIENCE,
    )  # fmt: skip
    output, bad = "", False
    for file, count in promised.items():
        command = _check_command(directory, file, count).split()
        done = subprocess.run(
            [program, *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=120 * PATIENCE, check=False,
        )  # fmt: skip
        output += done.stdout
        bad = bad or done.returncode != 0
    if bad:
        raise CheckError("promised records are missing", output)


def check_by_client(bench, guest, front, directory, promised):
    """As check(), after a fresh mount: nothing comes from the client's cache."""
    guest.run(f"umount {MOUNT_POINT}", 120)
    bench.mount(guest, front)
    check(guest, directory, promised)
