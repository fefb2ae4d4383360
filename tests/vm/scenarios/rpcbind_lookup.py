"""the daemon is told no ports: it asks the upstream's rpcbind, again after a move"""
import os
import pathlib
import socket
import struct
import subprocess

from lib import records, rpc
from lib.bench import MOUNT_POINT, CheckError, Skip
from lib.guest import PATIENCE, die_with_parent
from lib.services import EXPORT, Proxy, ServiceError, ports_free

RPCBIND_PORT, PROGRAM_RPCBIND, GETPORT, TCP = 111, 100000, 3, 6
BACK_SECONDS = 180
RUN = pathlib.Path(__file__).resolve().parents[1] / "run"
# Set for the run in a network namespace of its own.
ALONE = "NFSGATHER_VM_ALONE"


class AskingProxy(Proxy):
    """Our daemon without the options that say where the upstream's ports are."""

    def _command(self):
        command = super()._command()
        at = command.index("--upstream") + 1
        command[at] = f"127.0.0.1:{EXPORT}"
        return command


def _registered(program):
    """The port that the portmapper names for version 3 over TCP; 0 for none."""
    words = (0x61736B, 0, 2, PROGRAM_RPCBIND, 2, GETPORT, 0, 0, 0, 0)
    message = struct.pack(">14I", *words, program, 3, TCP, 0)
    with socket.create_connection(("127.0.0.1", RPCBIND_PORT), timeout=10) as sock:
        sock.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        with sock.makefile("rb") as stream:
            reply = stream.read(4 + 28)
    if len(reply) != 4 + 28:
        raise ServiceError("rpcbind does not answer")
    _mark, _xid, kind, status, _flavor, _length, accepted, port = struct.unpack(
        ">8I", reply
    )
    if (kind, status, accepted) != (1, 0, 0):
        raise ServiceError(f"rpcbind says {kind}, {status}, {accepted}")
    return port


def _ask(upstream):
    known = [_registered(n) for n in (rpc.PROGRAM_NFS, rpc.PROGRAM_MOUNT)]
    if known != [upstream.port, upstream.mount_port]:
        raise CheckError(f"rpcbind names ports {known}, not those of the upstream")


def _proxy(bench, upstream):
    proxy = AskingProxy(bench.options.proxy, upstream, bench.folder)
    if any(str(upstream.port) in word for word in proxy._command()):
        raise CheckError("the daemon is told the upstream's port")
    with bench.step("start nfsgatherd"):
        bench.start(proxy)
    bench.capture(proxy.port)
    return proxy


def _scenario(bench):
    upstream = bench.ganesha()
    _ask(upstream)
    front = _proxy(bench, upstream)
    guest = bench.client()
    directory = f"{MOUNT_POINT}/records"
    with bench.step("mount, first records"):
        bench.mount(guest, front)
        writer = records.Writer(guest, directory)
        writer.advance(2, 60)
    with bench.step("upstream moves its ports") as result:
        was = upstream.port
        upstream.stop()
        upstream.port, upstream.mount_port = ports_free(2)
        upstream.start()
        bench.capture(upstream.port)
        _ask(upstream)
        result[0] = f"ok, {was} to {upstream.port}"
    with bench.step("fsync works again"):
        writer.advance(1, BACK_SECONDS)
        writer.finish()
    with bench.step("check at the upstream") as result:
        records.check_on_host(bench, upstream.directory / "records", writer.promised)
        result[0] = f"ok, {sum(writer.promised.values())} records"
    with bench.step("check by a new mount"):
        # MOUNT has moved, too.
        records.check_by_client(bench, guest, front, directory, writer.promised)
        guest.run(f"umount {MOUNT_POINT}", 60)


def _run_alone(bench):
    """Runs this scenario again, in a network of its own. rpcbind names one NFS server:
    the host's could send our writes to somebody else's. Its socket is in /run."""
    options = bench.options
    words = [RUN, bench.name, "--proxy", options.proxy]
    words += ["--quick" if options.quick else "--full"]
    words += ["--keep"] * options.keep
    # ganesha resolves even 127.0.0.1, and that needs an address beside loopback's.
    script = "ip link set lo up; ip addr add 192.0.2.1/32 dev lo"
    script += '; mount -t tmpfs tmpfs /run; exec "$@"'
    process = subprocess.Popen(
        ["unshare", "--net", "--mount", "sh", "-ec", script, "sh", *words],
        stdin=subprocess.DEVNULL, env=dict(os.environ, **{ALONE: "1"}),
        preexec_fn=die_with_parent,
    )  # fmt: skip
    try:
        status = process.wait(900 * PATIENCE)
    except BaseException:
        process.terminate()
        process.wait(120 * PATIENCE)
        raise
    if status:
        raise CheckError(f"failed in its own network, status {status}")


def run(bench):
    if not bench.options.proxy:
        raise Skip("there is no daemon that could ask in direct mode")
    if ALONE in os.environ:
        _scenario(bench)
        return
    with bench.step("in a network of its own"):
        _run_alone(bench)
