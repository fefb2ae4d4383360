"""The main job: real programs on a real kernel's mount, then a comparison of every
file, as the client sees it after a fresh mount, with the upstream's own files."""
import collections
import difflib
import hashlib
import pathlib
import shutil
import subprocess

from . import rpc
from .bench import MOUNT_POINT, CheckError
from .guest import PATIENCE
from .services import EXPORT

STEPS_FILE = pathlib.Path(__file__).with_suffix(".sh")
# Name, function of main_job.sh (quick, full), limit in seconds (quick, full).
STEPS = (
    ("names, modes, sizes", "step_names", "step_names", 60, 90),
    ("copy a source tree", "step_copy", "step_copy", 60, 180),
    ("tar create, extract", "step_tar", "step_tar", 60, 180),
    ("git", "step_git_quick", "step_git", 90, 240),
    ("fio verify", "step_fio", "step_fio", 90, 240),
    ("iozone -t 4", "step_iozone", "step_iozone", 60, 180),
    ("fs_mark", "step_fs_mark", "step_fs_mark", 60, 120),
)
SHOWN = ("WRITE", "COMMIT", "READ", "CREATE", "SETATTR", "GETATTR", "LOOKUP", "ACCESS")


def _host_manifest(directory):
    done = subprocess.run(
        ["bash", "-c", f'. "{STEPS_FILE}"; manifest "$1"', "bash", directory],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=120 * PATIENCE, check=False,
    )  # fmt: skip
    if done.returncode:
        raise CheckError("the upstream's files cannot be read", done.stdout)
    return done.stdout


def _contains_source(manifest, sums):
    """The copied and the unpacked tree hold what the source held, file by file."""
    missing = set(sums.splitlines()) - set(manifest.splitlines())
    if missing or not sums:
        raise CheckError("files differ from their source", "\n".join(sorted(missing)))


def _compare(bench, guest_text, host_text):
    (bench.folder / "manifest.client").write_text(guest_text)
    (bench.folder / "manifest.upstream").write_text(host_text)
    if guest_text == host_text:
        return
    lines = difflib.unified_diff(
        host_text.splitlines(), guest_text.splitlines(), "upstream", "client", n=0
    )
    raise CheckError("client and upstream differ", "\n".join(lines))


def _libnfs(bench, front, directory, export):
    """The same files through libnfs, from the host."""
    sample = sorted((directory / "job" / "tree").rglob("*.h"))[0]
    url = f"nfs://127.0.0.1{export}"
    query = f"?nfsport={front.port}&mountport={front.mount_port}"

    def tool(*command):
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=60 * PATIENCE, check=True,
        ).stdout  # fmt: skip

    def digest(data):
        return hashlib.sha256(data).hexdigest()

    listing = tool("nfs-ls", f"{url}/job{query}").decode()
    for name in ("tree", "clone", "names"):
        if f" {name}\n" not in listing:
            raise CheckError(f"nfs-ls does not list {name}", listing)
    path = sample.relative_to(directory)
    if digest(tool("nfs-cat", f"{url}/{path}{query}")) != digest(sample.read_bytes()):
        raise CheckError(f"nfs-cat of {path} differs")
    tarball = directory / "job" / "tree.tar"
    shutil.copyfile(tarball, bench.folder / "upload")
    tool("nfs-cp", str(bench.folder / "upload"), f"{url}/job/upload{query}")
    if digest((directory / "job" / "upload").read_bytes()) != digest(
        tarball.read_bytes()
    ):
        raise CheckError("a file stored by nfs-cp differs")
    listed = rpc.exports(front.mount_port)
    if export not in listed:
        raise CheckError(f"MOUNT lists {listed}, not {export}")


def run(bench, guest, front, directory, export=EXPORT):
    """Mounts, works, compares; `directory` is what `export` is on this host."""
    directory = pathlib.Path(directory)
    tier = "quick" if bench.quick else "full"
    work = f"{MOUNT_POINT}/job"
    head = STEPS_FILE.read_text()
    head += f"\nTIER={tier} SRC=/tmp/source W={work}\n"
    counts = collections.Counter()

    with bench.step("mount") as result:
        bench.mount(guest, front, export)
        files = guest.run(head + "source_prepare", 60).strip()
        result[0] = f"ok, source tree of {files} files"
    for name, quick, full, quick_limit, full_limit in STEPS:
        with bench.step(name) as result:
            before = bench.mount_counts(guest)
            if bench.quick:
                guest.run(head + quick, quick_limit)
            else:
                guest.run(head + full, full_limit)
            delta = bench.mount_counts(guest) - before
            result[0] = f"ok, {delta['WRITE']} WRITE, {delta['COMMIT']} COMMIT"
    with bench.step("compare checksums"):
        counts += bench.mount_counts(guest)
        guest.run(f"umount {MOUNT_POINT}", 60)
        bench.mount(guest, front, export)
        source = guest.run(head + "sums_due", 60)
        guest_text = guest.run(head + 'manifest "$W"', 240)
        _contains_source(guest_text, source)
        _compare(bench, guest_text, _host_manifest(directory / "job"))
    with bench.step("libnfs, EXPORT"):
        _libnfs(bench, front, directory, export)
    with bench.step("unmount"):
        counts += bench.mount_counts(guest)
        guest.run(f"rm -rf {work}/untar", 120)
        if (directory / "job" / "untar").exists():
            raise CheckError("a removed tree is still there at the upstream")
        guest.run(f"umount {MOUNT_POINT}", 60)
    shown = ", ".join(f"{counts[name]} {name}" for name in SHOWN)
    bench.note(f"client calls (mountstats): {shown}")
    if counts["COMMIT"]:
        bench.note(f"WRITE:COMMIT = {counts['WRITE'] / counts['COMMIT']:.1f}")
    if hasattr(front, "counters"):
        bench.note(f"nfsgatherd counters: {front.counters()}")
