"""the kernel's own nfsd as the upstream: files, ACLs, fsync, comparison inside it"""
from lib.bench import MOUNT_POINT, CheckError
from lib.main_job import STEPS_FILE


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
