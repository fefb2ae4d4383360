"""Small things that several protocol tests need."""

import contextlib
import socket
import struct

from harness import EXPORT, wait_until
from nfs3_client import Client, Cred
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
