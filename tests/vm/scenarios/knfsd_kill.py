"""the kernel server loses power while a client writes: what fsync promised is there"""
from lib import records
from lib.bench import MOUNT_POINT

BATCHES_BEFORE, BATCHES_AFTER = 3, 1
# A client reconnects with growing pauses, so a return to work can take a while.
BACK_SECONDS = 180


def run(bench, **knfsd_options):
    upstream = bench.knfsd(fstype=bench.options.fs, **knfsd_options)
    front = bench.front(upstream)
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front)
        writer = records.Writer(guest, directory)
        writer.advance(1, 60)
    for number in range(1, bench.options.times + 1):
        with bench.step(f"kill {number}, boot again"):
            writer.advance(BATCHES_BEFORE, 120)
            upstream.crash()
            upstream.start()
        with bench.step(f"fsync works again ({number})") as result:
            writer.advance(BATCHES_AFTER, BACK_SECONDS)
            result[0] = f"ok, {sum(writer.promised.values())} records promised"
    with bench.step("last kill, boot again"):
        # Every promise has been made; a crash now shows what was only in memory.
        writer.finish()
        counts = bench.mount_counts(guest)
        upstream.crash()
        upstream.start()
    with bench.step("check on the disk") as result:
        records.check(upstream.guest, "/exp/records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("check by the client"):
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)
    bench.note(
        f"client calls before the check: {counts['WRITE']} WRITE,"
        f" {counts['COMMIT']} COMMIT"
    )
