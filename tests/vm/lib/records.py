"""A client that writes checksummed records and is told by fsync() which are safe, while
something behind its mount is killed; then the promised records are looked for.

The guest's program `records` does the writing and checking (guest/records.c)."""
import pathlib
import re
import subprocess
import typing

from .bench import MOUNT_POINT, CheckError
from .guest import PATIENCE, GuestError

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "guest" / "records.c"

STOP = "/tmp/records.stop"
# With this mount option the files of LARGE need many WRITEs for a batch, and with them
# a COMMIT; kernels send the single WRITE of SMALL as FILE_SYNC.
WSIZE = "wsize=65536"


class Shape(typing.NamedTuple):
    """What a group of files is written like: `batch` records between two fsync()."""

    first: int
    files: int
    record_bytes: int
    batch: int


LARGE = Shape(0, 3, 128 * 1024, 8)
SMALL = Shape(3, 1, 32 * 1024, 1)


def _shape(file):
    return LARGE if file < SMALL.first else SMALL


class Writer:
    """Processes that each append batches to a file of their own and call fsync."""

    def __init__(self, guest, directory, seconds=900):
        self.guest = guest
        self.directory = directory
        self.promised = dict.fromkeys(range(LARGE.files + SMALL.files), 0)
        guest.run(f"rm -f {STOP}; mkdir -p {directory}", 30)
        start = "".join(
            f"records write {directory} {' '.join(map(str, shape))} {STOP} &\n"
            for shape in (LARGE, SMALL)
        )
        self.job = guest.spawn(f"{start}wait -n && wait -n", seconds)

    def _take(self, line):
        found = re.fullmatch(r"synced (\d+) (\d+)", line)
        if not found:
            raise CheckError(f"the writer says: {line}", "\n".join(self.job.lines))
        file = int(found[1])
        self.promised[file] = max(self.promised[file], int(found[2]))

    def advance(self, batches, seconds):
        """Waits until every file has that many more batches promised than now."""
        self.drain()
        goal = {
            file: n + batches * _shape(file).batch for file, n in self.promised.items()
        }

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
    shape = _shape(file)
    sizes = f"{shape.record_bytes} {shape.batch} {count}"
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


def note_calls(bench, front, counts):
    """What was asked for while the records were written, below the table."""
    bench.note(f"client: {counts['WRITE']} WRITE, {counts['COMMIT']} COMMIT")
    if hasattr(front, "totals"):
        seen = front.totals()
        bench.note(
            f"nfsgatherd saw {seen['client_commits']} COMMIT,"
            f" {seen['client_writes_stable']} FILE_SYNC WRITE of"
            f" {seen['client_writes']} WRITE; sent {seen['upstream_commits']} COMMIT,"
            f" {seen['upstream_writes_stable']} FILE_SYNC WRITE of"
            f" {seen['upstream_writes']} WRITE"
        )
    if not counts["COMMIT"]:
        raise CheckError("the client never sent a COMMIT")
