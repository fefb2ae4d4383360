"""Small things that several protocol tests need."""

import contextlib
import socket
import struct

from harness import EXPORT, Proxy, free_port, make_file, upstream_conf, wait_until
from nfs3_client import FILE_SYNC, Client, Cred
from nfs3_xdr import ARGS, PROCS

REPLY_HEADER = 24  # xid, REPLY, accepted, AUTH_NONE verifier, SUCCESS


@contextlib.contextmanager
def mounted(server, **kw):
    """A client of a FaultServer or Proxy; `root` is the handle of its export."""
    with server.client(**kw) as client:
        client.root = client.mnt(EXPORT).ok().fh
        yield client


class ClientFrom(Client):
    """A client whose source address is chosen; machine names do not tell it apart."""

    def __init__(self, port, source, **kw):
        self.source = source
        super().__init__(port, **kw)

    def _connect(self, host, port, source_port):
        return socket.create_connection(
            (host, port), self.timeout, (self.source, source_port or 0)
        )


def send(client, name, *args, xid, cred=None, version=None, **kw):
    """Sends a call whose reply is to be read as bytes (see reply)."""
    program, default, number = PROCS[name]
    client.send_call(
        program, version or default, number, ARGS[name](*args, **kw), cred, xid
    )


def reply(client, name, *args, xid, **kw):
    """The whole reply of a call, header included, as bytes."""
    send(client, name, *args, xid=xid, **kw)
    return client.recv_record()


def status_of(record):
    """The NFS status in a reply of reply()."""
    assert record[4:REPLY_HEADER] == struct.pack(">5I", 1, 0, 0, 0, 0), record[:32]
    return struct.unpack(">I", record[REPLY_HEADER : REPLY_HEADER + 4])[0]


def count_of(faultd, proc):
    """How often the upstream received a procedure."""
    return faultd.stats()["calls"][proc]


def upstream_counters(proxy, name="default"):
    return proxy.counters()["upstreams"][name]


def machine(name, **kw):
    return Cred(machine=name.encode(), **kw)


def lose(faultd, c, name="lost"):
    """Acked bytes are lost of more clients than are remembered of one file: the write
    verifier changes. Returns the one before."""
    fh = make_file(c, name)
    writers = [machine(f"writer{i}") for i in range(12)]
    verfs = {
        c.write(fh, i * 100, b"lost", cred=cred).ok().verf
        for i, cred in enumerate(writers)
    }
    faultd.cmd("error COMMIT IO 1")
    faultd.cmd(f"error WRITE IO {len(writers)}")
    assert c.commit(fh, cred=writers[0]).name == "IO"
    faultd.cmd("clear WRITE,COMMIT")
    (before,) = verfs
    return before


def files_on_two_connections(client, faultd):
    """Two new files whose WRITEs go to different upstream connections, with those:
    ((handle, connection), (handle, connection))."""
    seen = {}
    for i in range(40):
        fh = client.create(client.root, f"conn{i}", mode=0o666).ok().fh
        client.write(fh, 0, b"x", 2).ok()
        seen.setdefault(faultd.calls("WRITE")[-1]["conn"], fh)
        if len(seen) == 2:
            return [(fh, conn) for conn, fh in seen.items()]
    raise AssertionError("40 files, and all on one upstream connection")


def wait_answered(faultd, proc, n):
    """Until the upstream has executed n calls of a procedure (held replies count)."""
    wait_until(
        lambda: sum(call["status"] is not None for call in faultd.calls(proc)) >= n,
        what=f"{n} executed {proc}",
    )


# Acked bytes are sent when somebody wants them, so that a test decides when that is.
PATIENT = {"plug_max": "1s", "dirty_expire": "30s"}


def proxy_with(faultd, **keys):
    """A proxy with these keys in its [upstream default]."""
    port = free_port()
    return Proxy(conf=upstream_conf("default", faultd, port, **keys), port=port)


def open_file(c, name="f", data=b"x", cred=None):
    """A file whose writer has proven that it may write: from now on it is acked."""
    fh = c.create(c.root, name, mode=0o666).ok().fh
    c.write(fh, 0, data, FILE_SYNC, cred=cred).ok()
    return fh
