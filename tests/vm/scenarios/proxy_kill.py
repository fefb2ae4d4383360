"""our daemon is killed while a client writes: what fsync promised is there"""
from lib import records
from lib.bench import MOUNT_POINT, Skip

BATCHES_BEFORE, BATCHES_AFTER = 3, 1
BACK_SECONDS = 180


def run(bench):
    if not bench.options.proxy:
        raise Skip("there is no daemon to kill in direct mode")
    upstream = bench.ganesha()
    front = bench.front(upstream)
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front, extra=records.WSIZE)
        writer = records.Writer(guest, directory, 120 * (bench.options.times + 2))
        writer.advance(1, 60)
    for number in range(1, bench.options.times + 1):
        with bench.step(f"kill -9 {number}, start again"):
            writer.advance(BATCHES_BEFORE, 120)
            front.crash()
            front.start()
        with bench.step(f"fsync works again ({number})") as result:
            writer.advance(BATCHES_AFTER, BACK_SECONDS)
            result[0] = f"ok, {sum(writer.promised.values())} records promised"
    with bench.step("last kill -9"):
        # Every promise has been made; what the daemon alone still had is lost now.
        writer.finish()
        counts = bench.mount_counts(guest)
        front.crash()
    with bench.step("check at the upstream") as result:
        records.check_on_host(bench, upstream.directory / "records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("calls of the client"):
        records.note_calls(bench, front, counts)
    with bench.step("check by the client"):
        front.start()
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)
