"""our daemon is killed and the kernel server loses power, at random moments"""
import random
import time

from lib import mountstats, records
from lib.bench import MOUNT_POINT, Skip

BACK_SECONDS = 180
# The longest pause before a kill, and between the two when both are killed.
MOMENT_SECONDS, BETWEEN_SECONDS = 4, 1
DAEMON, UPSTREAM = "nfsgatherd", "upstream"
PLANS = ((DAEMON,), (UPSTREAM,), (DAEMON, UPSTREAM), (UPSTREAM, DAEMON))


def _plans(rng, times):
    """Who is killed in each round, in which order: all plans before one comes again."""
    plans = []
    while len(plans) < times:
        plans += rng.sample(PLANS, len(PLANS))
    return plans[:times]


def _kill(rng, services, plan):
    """Returns the order in which to start them again."""
    for name in plan:
        services[name].crash()
        if name != plan[-1]:
            time.sleep(rng.uniform(0, BETWEEN_SECONDS))
    return rng.sample(plan, len(plan))


def run(bench):
    if not bench.options.proxy:
        raise Skip("there is no daemon to kill in direct mode")
    seed = bench.options.seed
    if seed is None:
        seed = random.randrange(1_000_000)
    bench.say(f"--seed {seed}")
    rng = random.Random(seed)
    upstream = bench.knfsd(fstype=bench.options.fs)
    front = bench.front(upstream)
    services = {DAEMON: front, UPSTREAM: upstream}
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front, extra=records.WSIZE)
        writer = records.Writer(guest, directory, 240 * (bench.options.times + 2))
        writer.advance(1, 60)
    for number, plan in enumerate(_plans(rng, bench.options.times), 1):
        with bench.step(f"kill {number}") as result:
            # This chooses the moment; nothing is waited for.
            time.sleep(rng.uniform(0, MOMENT_SECONDS))
            back = _kill(rng, services, plan)
            for name in back:
                services[name].start()
            result[0] = f"ok, killed {', '.join(plan)}; started {', '.join(back)}"
        with bench.step(f"fsync works again ({number})") as result:
            writer.advance(1, BACK_SECONDS)
            result[0] = f"ok, {sum(writer.promised.values())} records promised"
    with bench.step("last kill of both"):
        writer.finish()
        stats = bench.mount_stats(guest)
        front.crash()
        upstream.crash()
        upstream.start()
    with bench.step("check on the disk") as result:
        records.check(upstream.guest, "/exp/records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("calls of the client"):
        records.note_calls(bench, front, mountstats.operations(stats, MOUNT_POINT))
    with bench.step("check by the client"):
        front.start()
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)
