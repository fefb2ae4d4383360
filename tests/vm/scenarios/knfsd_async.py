"""an upstream that lies about COMMIT: the checks of knfsd_kill must notice the loss"""
from lib import records
from lib.bench import MOUNT_POINT, CheckError
from lib.services import Knfsd


def run(bench):
    options = Knfsd.OPTIONS.replace("sync", "async")
    upstream = bench.knfsd(fstype=bench.options.fs, options=options)
    front = bench.front(upstream)
    guest = bench.client()
    with bench.step("mount, records, kill"):
        bench.mount(guest, front)
        writer = records.Writer(guest, f"{MOUNT_POINT}/records")
        writer.advance(3, 120)
        # Written back by the server's own clock: more than the last batches, then stop.
        writer.finish()
        upstream.crash()
    with bench.step("boot again"):
        upstream.start()
    with bench.step("the loss is noticed") as result:
        try:
            records.check(upstream.guest, "/exp/records", writer.promised)
        except CheckError as failure:
            result[0] = f"ok: {failure}"
        else:
            raise CheckError("no record is missing, although the server lied")
