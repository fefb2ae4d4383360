"""the export, with a trailing slash, and a folder below it, can be mounted"""
from lib.bench import MOUNT_POINT, CheckError
from lib.guest import GuestError
from lib.services import EXPORT


def _mounted_shows(bench, guest, front, path, names):
    with bench.step(f"mount {path}"):
        bench.mount(guest, front, path)
        listed = guest.run(f"ls {MOUNT_POINT}", 30).split()
        if listed != names:
            raise CheckError(f"{path} shows {listed}, not {names}")
        guest.run(f"umount {MOUNT_POINT}", 30)


def run(bench):
    upstream = bench.ganesha()
    below = upstream.directory / "sub" / "deep"
    below.mkdir(parents=True)
    (below / "file").write_text("here\n")
    front = bench.front(upstream)
    guest = bench.client()
    _mounted_shows(bench, guest, front, EXPORT, ["sub"])
    _mounted_shows(bench, guest, front, f"{EXPORT}/", ["sub"])
    _mounted_shows(bench, guest, front, f"{EXPORT}/sub", ["deep"])
    _mounted_shows(bench, guest, front, f"{EXPORT}/sub/deep", ["file"])
    with bench.step("mount what is not there"):
        try:
            bench.mount(guest, front, f"{EXPORT}/absent")
        except GuestError as failure:
            # An answer, not a time-out; which one is the upstream's choice.
            said = failure.output
            if "No such file" not in said and "access denied" not in said:
                raise
        else:
            raise CheckError(f"{EXPORT}/absent was mounted")
