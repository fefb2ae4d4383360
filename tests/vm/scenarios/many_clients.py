"""two clients through one daemon at once: own files, and a file that both extend"""
import hashlib

from lib.bench import MOUNT_POINT, CheckError
from lib.guest import SIDE, GuestError

CLIENTS = ("client1", "client2")
MEMORY_MIB = 512
ROUNDS_QUICK, ROUNDS_FULL = 6, 40
ROUND_SECONDS = 30
BLOCK_BYTES = 64 * 1024
WORK = f"{MOUNT_POINT}/many"
SHOWN = ("WRITE", "COMMIT", "READ")

# A round writes one of eight own files and, at the same time, this client's next block
# of the shared file; blocks of the clients take turns. Each is compared with what is
# read back from the other side of the mount, as the page cache is emptied first. The
# rounds go on until the host says stop, so neither client is done before the other has
# had its share: what a client does, it does while the other one works.
WORK_SCRIPT = """
set -e
cd /tmp
mkdir -p own blocks
own_write() {
	dd if=own/$1 of=$W/own.$ME.$1 bs=128k conv=fsync status=none
}
shared_write() {
	dd if=blocks/$1 of=$W/shared bs=$BLOCK seek=$((2 * $1 + ME)) conv=notrunc,fsync \\
		status=none
}
shared_read() {
	dd if=$W/shared bs=$BLOCK skip=$((2 * $1 + ME)) count=1 status=none
}
for ((i = 0; ; i++)); do
	[[ -e stop ]] && break
	f=$((i % 8))
	dd if=/dev/urandom of=own/$f bs=$((65536 + i * 1000 + ME)) count=16 status=none
	dd if=/dev/urandom of=blocks/$i bs=$BLOCK count=1 status=none
	own_write $f & own=$!
	shared_write $i & shared=$!
	wait $own
	wait $shared
	echo 1 >/proc/sys/vm/drop_caches
	cmp own/$f $W/own.$ME.$f
	shared_read $i | cmp - blocks/$i
	echo round $((i + 1))
done
"""
STORED_SCRIPT = f"cd {WORK} && sha256sum * | sort -k 2"


def _round_of(line):
    word, _, number = line.partition(" ")
    if word != "round":
        raise CheckError(f"a client says: {line}")
    return int(number)


def _work_at_once(guests, rounds):
    """Both work until both have done that many rounds; returns how many each did."""
    jobs = []
    for number, guest in enumerate(guests):
        head = f"W={WORK} ME={number} BLOCK={BLOCK_BYTES}\n"
        jobs.append(guest.spawn(head + WORK_SCRIPT, 2 * rounds * ROUND_SECONDS))
    for job in jobs:
        job.wait_until(lambda line: _round_of(line) >= rounds, rounds * ROUND_SECONDS)
    for job, guest in zip(jobs, guests):
        if job.status is not None or job.failure:
            raise CheckError("a client ended before it was told", "\n".join(job.lines))
        guest.run("touch /tmp/stop", 30)
    for job in jobs:
        job.wait_end(2 * ROUND_SECONDS)
    return [_round_of(job.lines[-1]) for job in jobs]


def _digest(data):
    return hashlib.sha256(data).hexdigest()


def _sums(text):
    """Maps names to checksums."""
    return {name: digest for digest, name in map(str.split, text.splitlines())}


def _check_upstream(guest, number, rounds, directory):
    """What this client has kept a copy of is what the upstream's files hold."""
    due = _sums(guest.run("cd /tmp && sha256sum own/* blocks/*", 60))
    shared = (directory / "shared").read_bytes()
    bad = []
    for name, digest in due.items():
        kind, _, item = name.partition("/")
        if kind == "own":
            stored = (directory / f"own.{number}.{item}").read_bytes()
        else:
            at = (2 * int(item) + number) * BLOCK_BYTES
            stored = shared[at : at + BLOCK_BYTES]
        if _digest(stored) != digest:
            bad.append(f"{guest.name}: {name}, {len(stored)} bytes at the upstream")
    if len(due) != rounds + min(rounds, 8):
        bad.append(f"{guest.name}: {len(due)} copies after {rounds} rounds")
    if bad:
        raise CheckError("files of the upstream differ", "\n".join(bad) + "\n")


def _check_clients(bench, guests, front, directory):
    """After a fresh mount each client sees all files, the other's too."""
    stored = {path.name: _digest(path.read_bytes()) for path in directory.iterdir()}
    for guest in guests:
        guest.run(f"umount {MOUNT_POINT}", 60)
        bench.mount(guest, front)
        seen = _sums(guest.run(STORED_SCRIPT, 120))
        if seen != stored:
            differ = sorted(
                name for name in {*seen, *stored} if seen.get(name) != stored.get(name)
            )
            raise CheckError(f"{guest.name} sees other files: {', '.join(differ)}")
        guest.run(f"umount {MOUNT_POINT}", 60)


def _boot(bench, name):
    guest = bench.client(name, memory=MEMORY_MIB)
    if guest.run("hostname", 20).strip() != name:
        raise GuestError(f"{name} has another host name")
    return guest


def run(bench):
    upstream = bench.ganesha()
    front = bench.front(upstream)
    guests = [_boot(bench, name) for name in CLIENTS]
    directory = upstream.directory / "many"
    with bench.step("mount by both"):
        for guest in guests:
            bench.mount(guest, front)
        guests[0].run(f"mkdir {WORK} && >{WORK}/shared", 30)
        # The other client has not looked before, so nothing says "not there".
        guests[1].run(f"test -f {WORK}/shared", 30, channel=SIDE)
    with bench.step("write, fsync, compare") as result:
        done = _work_at_once(guests, ROUNDS_QUICK if bench.quick else ROUNDS_FULL)
        result[0] = "ok, rounds: " + ", ".join(map(str, done))
    counts = [bench.mount_counts(guest) for guest in guests]
    with bench.step("compare at the upstream") as result:
        for number, guest in enumerate(guests):
            _check_upstream(guest, number, done[number], directory)
        end = max(2 * (n - 1) + number + 1 for number, n in enumerate(done))
        size = (directory / "shared").stat().st_size
        if size != end * BLOCK_BYTES:
            raise CheckError(f"the shared file has {size} bytes, not {end} blocks")
        result[0] = f"ok, shared file of {size >> 10} KiB"
    with bench.step("compare by both"):
        _check_clients(bench, guests, front, directory)
    for guest, count in zip(guests, counts):
        shown = ", ".join(f"{count[name]} {name}" for name in SHOWN)
        bench.note(f"{guest.name}, calls before the check: {shown}")
        if not all(count[name] for name in SHOWN):
            bench.failed = True
            bench.note(f"{guest.name}: some of these calls were never made")
    if hasattr(front, "counters"):
        bench.note(f"nfsgatherd counters: {front.counters()}")
