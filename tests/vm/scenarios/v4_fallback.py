"""a plain mount, without vers=3, falls back from NFSv4 and works"""
import pathlib

from lib.bench import MOUNT_POINT, CheckError, Skip
from lib.services import EXPORT

# Without a version, mount.nfs falls back only to what the portmapper of the mounted
# address lists. So the guest mounts an address of its own network: port 111 there is a
# portmapper that knows our daemon, the daemon's port is passed on to it.
ADDRESS = "10.0.2.100"
PORTMAP = pathlib.Path(__file__).resolve().parents[1] / "lib" / "portmap.py"


def run(bench):
    if not bench.options.proxy:
        raise Skip("the upstream itself speaks NFSv4; nothing to fall back from")
    upstream = bench.ganesha()
    front = bench.front(upstream)
    port = front.port
    inetd = {111: f"{PORTMAP} {port}", port: f"busybox nc 127.0.0.1 {port}"}
    guest = bench.client(inetd=inetd)
    with bench.step("NFSv4 is refused cleanly"):
        said = guest.run(
            f"mount -v -t nfs -o vers=4,port={port} {ADDRESS}:{EXPORT} {MOUNT_POINT} "
            "2>&1 && echo MOUNTED; true",
            90,
        )
        if "Protocol not supported" not in said or "MOUNTED" in said:
            raise CheckError("NFSv4 was not refused as a version that is not there", said)
        counters = front.counters()["upstreams"]
        if next(iter(counters.values()))["rpc_errors_sent"] == 0:
            raise CheckError("the refusal did not come from our daemon", str(counters))
    with bench.step("plain mount"):
        options = f"port={port},mountport={port},nolock"
        guest.run(
            f"mount -v -t nfs -o {options} {ADDRESS}:{EXPORT} {MOUNT_POINT} 2>&1", 90
        )
    with bench.step("version, write, compare"):
        mounts = guest.run("cat /proc/mounts", 20)
        if f" {MOUNT_POINT} nfs rw" not in mounts or "vers=3" not in mounts:
            raise CheckError("not mounted as NFSv3", mounts)
        guest.run(f"echo through >{MOUNT_POINT}/file && umount {MOUNT_POINT}", 30)
        if (upstream.directory / "file").read_text() != "through\n":
            raise CheckError("the upstream's file differs")
