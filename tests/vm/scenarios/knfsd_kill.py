"""the kernel server loses power while a client writes: what fsync promised is there"""
from lib import mountstats, records
from lib.bench import MOUNT_POINT, CheckError

BATCHES_BEFORE, BATCHES_AFTER = 3, 1
# A client reconnects with growing pauses, so a return to work can take a while.
BACK_SECONDS = 180


def _resends(bench, guest, stats):
    """What this client had to send again; all it wrote has been flushed."""
    again = mountstats.transmitted_again(stats, MOUNT_POINT)["WRITE"]
    rewritten = mountstats.written_again(stats, MOUNT_POINT)
    bench.note(
        f"{guest.name} re-sent: {again} WRITE calls transmitted again,"
        f" {rewritten} bytes written again ({rewritten / 65536:.1f} times 64 KiB)"
    )
    if bench.options.expect_no_resends and (again or rewritten):
        raise CheckError(f"{guest.name} had to send WRITEs again")


def run(bench, **knfsd_options):
    upstream = bench.knfsd(fstype=bench.options.fs, **knfsd_options)
    front = bench.front(upstream)
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front, extra=records.WSIZE)
        writer = records.Writer(guest, directory, 180 * (bench.options.times + 2))
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
        stats = bench.mount_stats(guest)
        upstream.crash()
        upstream.start()
    with bench.step("check on the disk") as result:
        records.check(upstream.guest, "/exp/records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("check by the client"):
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)
    with bench.step("calls of the client"):
        records.note_calls(bench, front, mountstats.operations(stats, MOUNT_POINT))
        _resends(bench, guest, stats)
