#!/usr/bin/python3
"""A portmapper for one guest: portmap.py PORT, the connection on stdin and stdout.

Says that NFS v3 and MOUNT v3 over TCP are on PORT, and nothing else: what rpcbind says
on a host where nfsgather is registered. qemu starts one for each connection the guest
makes, so the host's own rpcbind plays no part."""
import os
import struct
import sys

PMAP, GETPORT, TCP = 100000, 3, 6
SERVED = ((100003, 3, TCP), (100005, 3, TCP))


def read_exactly(count):
    data = b""
    while len(data) < count:
        more = os.read(0, count - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


def answer(call, port):
    xid, _kind, _rpc, program, version, procedure = struct.unpack(">6I", call[:24])
    head = struct.pack(">5I", xid, 1, 0, 0, 0)
    if program != PMAP:
        return head + struct.pack(">I", 1)
    if version != 2:
        return head + struct.pack(">3I", 2, 2, 2)
    if procedure == 0:
        return head + struct.pack(">I", 0)
    if procedure != GETPORT:
        return head + struct.pack(">I", 3)
    mapping = struct.unpack(">4I", call[-16:])[:3]
    return head + struct.pack(">2I", 0, port if mapping in SERVED else 0)


def main():
    port = int(sys.argv[1])
    while True:
        (mark,) = struct.unpack(">I", read_exactly(4))
        reply = answer(read_exactly(mark & 0x7FFFFFFF), port)
        os.write(1, struct.pack(">I", 0x80000000 | len(reply)) + reply)


if __name__ == "__main__":
    main()
