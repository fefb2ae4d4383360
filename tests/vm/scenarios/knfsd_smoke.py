"""the kernel's own nfsd as the upstream: files, ACLs, fsync, comparison inside it"""
import re

from lib.bench import MOUNT_POINT, CheckError
from lib.main_job import STEPS_FILE

# What the new folder's default ACL and the file's own make of them; by number, as the
# two sides need not know the same names.
ACL_SCRIPT = f"""
set -e
mkdir {MOUNT_POINT}/job/acl
cd {MOUNT_POINT}/job/acl
setfacl -m u:1001:rwx,g:1002:r-x,d:u:1003:rw-,d:g:1004:r-- .
>own; >plain
setfacl -m u:1005:r--,g:1006:rw-,m::rw- own
setfacl -m u:1007:r-- plain
setfacl -b plain
"""
ACL_LINES = {
    ".": ("user:1001:rwx", "group:1002:r-x", "default:user:1003:rw-",
          "default:group:1004:r--"),
    "own": ("user:1003:rw-", "group:1004:r--", "user:1005:r--", "group:1006:rw-",
            "mask::rw-"),
    "plain": (),
}  # fmt: skip


def _acls(guest, directory):
    """The text of getfacl for each file."""
    command = f"cd {directory}/job/acl && getfacl -n -E"
    return {name: guest.run(f"{command} {name}", 30) for name in ACL_LINES}


def _check_acls(bench, guest, upstream, front):
    """Set by the client; read by it, by the server itself, and after a fresh mount."""
    guest.run(ACL_SCRIPT, 60)
    seen = _acls(guest, MOUNT_POINT)
    for name, due in ACL_LINES.items():
        named = re.findall(r"^(?:default:)?(?:user|group):\d+:.*$", seen[name], re.M)
        missing = [line for line in due if line not in seen[name].splitlines()]
        if missing or (not due and named):
            raise CheckError(f"the ACL of {name} is not as set", seen[name])
    guest.run(f"umount {MOUNT_POINT}", 60)
    bench.mount(guest, front)
    for acls in (_acls(guest, MOUNT_POINT), _acls(upstream.guest, "/exp")):
        if acls != seen:
            raise CheckError("ACLs differ", f"{seen}\n{acls}")
    return sum(map(len, ACL_LINES.values()))


def run(bench):
    upstream = bench.knfsd(fstype=bench.options.fs)
    front = bench.front(upstream)
    guest = bench.client()
    head = STEPS_FILE.read_text()
    head += f"\nTIER=quick SRC=/tmp/source W={MOUNT_POINT}/job\n"
    with bench.step("mount"):
        bench.mount(guest, front)
        guest.run(head + "source_prepare", 60)
    with bench.step("copy with ACLs"):
        guest.run(head + "step_copy", 120)
    with bench.step("setfacl, getfacl") as result:
        lines = _check_acls(bench, guest, upstream, front)
        result[0] = f"ok, {lines} entries as set"
    with bench.step("names, modes, sizes"):
        guest.run(head + "step_names", 90)
    with bench.step("write, fsync"):
        guest.run(
            f"dd if=/dev/urandom of={MOUNT_POINT}/job/big bs=128k count=128 conv=fsync"
            " status=none",
            90,
        )
    with bench.step("compare checksums"):
        counts = bench.mount_counts(guest)
        guest.run(f"umount {MOUNT_POINT}", 60)
        bench.mount(guest, front)
        seen = guest.run(head + 'manifest "$W"', 120)
        stored = upstream.guest.run(head + "manifest /exp/job", 120)
        if seen != stored:
            (bench.folder / "manifest.client").write_text(seen)
            (bench.folder / "manifest.upstream").write_text(stored)
            raise CheckError("client and upstream differ; see the manifests")
        guest.run(f"umount {MOUNT_POINT}", 60)
    bench.note(f"client calls: {counts['WRITE']} WRITE, {counts['COMMIT']} COMMIT")
