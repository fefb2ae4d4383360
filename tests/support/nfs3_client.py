"""A raw NFSv3, MOUNT and NFSACL client for tests: standard library only.

It shares no code with the daemon or the fault server, decodes strictly (padding,
booleans and left-over bytes are checked), and lets a test choose everything a kernel
would not: xids, credentials, fragments, source ports, calls in flight, bytes that are
no call at all.

    with Client(port) as c:
        root = c.mnt("/exp").ok().fh
        file = c.create(root, "a").ok().fh
        c.write(file, 0, b"abc", UNSTABLE).ok()
        xids = [c.start("commit", file) for _ in range(3)]
        results = [c.finish(xid) for xid in xids]

Procedures return a Result whose `status` may be an error (ok() raises StatusError
then); what RPC itself refuses raises RpcError; a lost connection raises Closed; no
answer in time raises TimeoutError.
"""

import itertools
import random
import socket
import struct

# Names that tests want beside Client.
from nfs3_xdr import *  # noqa: F401,F403
from nfs3_xdr import (
    ARGS, AUTH_NONE, PROCS, RESULTS, Cred, Dec, Enc, ProtocolError, Result, RpcError,
)  # fmt: skip

_xids = itertools.count(random.getrandbits(31))


class Closed(Exception):
    """The other side closed or reset the connection."""


def call_bytes(
    program, version, number, args=b"", cred=None, xid=0, rpc_version=2, verf=None
):
    """One call without its record mark."""
    e = Enc().u32(xid).u32(0).u32(rpc_version).u32(program).u32(version).u32(number)
    (cred or Cred()).encode(e)
    flavor, body = verf or (AUTH_NONE, b"")
    return e.u32(flavor).opaque(body).bytes() + args


def record(payload, last=True):
    return struct.pack(">I", len(payload) | (0x80000000 if last else 0)) + payload


ACCEPT_ERRORS = {
    1: "prog_unavail", 2: "prog_mismatch", 3: "proc_unavail", 4: "garbage_args",
    5: "system_err",
}  # fmt: skip


def dec_reply(payload):
    """(xid, decoder of the results, or the RpcError)."""
    d = Dec(payload)
    xid, kind = d.u32(), d.u32()
    if kind != 1:
        raise ProtocolError(f"message type {kind} from a server")
    denied = d.bool()
    if denied:
        if d.u32() == 0:
            error = RpcError("rpc_mismatch", d.u32(), d.u32())
        else:
            error = RpcError("auth_error", why=d.u32())
        d.done()
        return xid, error
    if d.u32() != AUTH_NONE or d.opaque(400):
        raise ProtocolError("reply verifier is not AUTH_NONE")
    stat = d.u32()
    if stat == 0:
        return xid, d
    kind = ACCEPT_ERRORS.get(stat)
    if not kind:
        raise ProtocolError(f"accept_stat {stat}")
    versions = (d.u32(), d.u32()) if stat == 2 else (None, None)
    d.done()
    return xid, RpcError(kind, *versions)


class Client:
    """One connection. cred is used unless a call is given another.

    source_port: a number, or "reserved" for one below 1024 (needs privilege)."""

    def __init__(self, port, host="127.0.0.1", cred=None, timeout=20, source_port=None):
        self.cred = cred or Cred()
        self.timeout = timeout
        self.pending = {}  # xid: name of the procedure
        self.arrived = {}  # xid: decoder or RpcError
        self.order = []  # xids as their replies came
        self.sock = self._connect(host, port, source_port)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def _connect(self, host, port, source_port):
        if source_port != "reserved":
            source = None if source_port is None else ("", source_port)
            return socket.create_connection((host, port), self.timeout, source)
        for p in random.sample(range(600, 1024), 424):
            try:
                return socket.create_connection((host, port), self.timeout, ("", p))
            except OSError as e:
                if e.errno not in (98, 99):  # in use
                    raise
        raise OSError("no reserved port is free")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def source_port(self):
        return self.sock.getsockname()[1]

    def close(self):
        self.sock.close()

    def reset(self):
        """Closes with a TCP reset."""
        linger = struct.pack("ii", 1, 0)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.sock.close()

    # -- sending

    def send_raw(self, data):
        try:
            self.sock.sendall(data)
        except (ConnectionResetError, BrokenPipeError) as e:
            raise Closed(str(e)) from e

    def send_record(self, payload, fragments=None):
        """fragments: lengths of all fragments but the last, which takes the rest."""
        at = 0
        for n in fragments or ():
            self.send_raw(record(payload[at : at + n], last=False))
            at += n
        self.send_raw(record(payload[at:]))

    def send_call(
        self, program, version, number, args=b"", cred=None, xid=None, **more
    ):
        """Sends any call at all; its results stay undecoded (see wait)."""
        xid = next(_xids) & 0xFFFFFFFF if xid is None else xid
        fragments = more.pop("fragments", None)
        cred = cred or self.cred
        payload = call_bytes(program, version, number, args, cred, xid, **more)
        self.send_record(payload, fragments)
        return xid

    def start(
        self, name, *args, cred=None, xid=None, version=None, fragments=None, **kw
    ):
        """Sends a procedure's call without waiting; returns its xid."""
        program, default, number = PROCS[name]
        xid = next(_xids) & 0xFFFFFFFF if xid is None else xid
        self.pending[xid] = name
        return self.send_call(
            program, version or default, number, ARGS[name](*args, **kw),
            cred, xid, fragments=fragments,
        )  # fmt: skip

    # -- receiving

    def recv_raw(self, timeout=None):
        """Some bytes; b"" when the other side has closed in an orderly way."""
        self.sock.settimeout(self.timeout if timeout is None else timeout)
        try:
            return self.sock.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError) as e:
            raise Closed(str(e)) from e

    def _fill(self, n, timeout):
        while len(self.buffer) < n:
            got = self.recv_raw(timeout)
            if not got:
                raise Closed(f"{len(self.buffer)} bytes of a record, then the end")
            self.buffer += got

    def recv_record(self, timeout=None):
        """The next whole record, joined from its fragments."""
        payload = b""
        while True:
            self._fill(4, timeout)
            mark = struct.unpack(">I", self.buffer[:4])[0]
            n = mark & 0x7FFFFFFF
            if n > 1 << 26:
                raise ProtocolError(f"fragment of {n} bytes")
            self._fill(4 + n, timeout)
            payload += bytes(self.buffer[4 : 4 + n])
            del self.buffer[: 4 + n]
            if mark & 0x80000000:
                return payload

    def wait(self, xid, timeout=None):
        """The decoder of that call's results, or its RpcError raised. Replies of other
        calls that come first are kept for their own wait."""
        while xid not in self.arrived:
            got, what = dec_reply(self.recv_record(timeout))
            self.arrived[got] = what
            self.order.append(got)
        what = self.arrived.pop(xid)
        if isinstance(what, RpcError):
            raise what
        return what

    def finish(self, xid, timeout=None):
        """The Result of a started call."""
        d = self.wait(xid, timeout)
        name = self.pending.pop(xid)
        fields = RESULTS[name](d)
        d.done()
        return Result(name, **fields)

    def call(self, name, *args, timeout=None, **kw):
        return self.finish(self.start(name, *args, **kw), timeout)

    def expect_closed(self, timeout=None):
        """Reads until the other side closes; returns what came before that."""
        got = bytes(self.buffer)
        while True:
            try:
                more = self.recv_raw(timeout)
            except Closed:
                return got
            if not more:
                return got
            got += more

    def expect_silence(self, seconds):
        """Fails if anything at all, even an end, arrives within that time."""
        try:
            got = self.recv_raw(seconds)
        except TimeoutError:
            return
        raise AssertionError(f"silence expected, got {len(got)} bytes")

    # -- comfort

    def __getattr__(self, name):
        if name not in PROCS:
            raise AttributeError(name)
        return lambda *args, **kw: self.call(name, *args, **kw)

    def list_all(self, fh, count=4096, plus=False):
        """All entries of a directory, over as many calls as it takes."""
        cookie, verf, out = 0, 0, []
        while True:
            if plus:
                r = self.readdirplus(fh, cookie, verf, count, count).ok()
            else:
                r = self.readdir(fh, cookie, verf, count).ok()
            out += r.entries
            if r.eof:
                return out
            if not r.entries:
                raise ProtocolError("no entries and no end of directory")
            cookie, verf = r.entries[-1].cookie, r.verf

    def read_file(self, fh, size=None, count=65536):
        """The whole content (up to size)."""
        out = b""
        while size is None or len(out) < size:
            r = self.read(fh, len(out), count).ok()
            out += r.data
            if r.eof:
                return out
            if not r.data:
                raise ProtocolError("no data and no end of file")
        return out[:size]
