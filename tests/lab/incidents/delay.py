#!/usr/bin/env python3
"""delay.py DEVICE MS [EACH [SCALE]]: a TUN device that gives back each packet MS later: a long path, in this namespace. EACH: of packets of more than 300 bytes one bit of each so
many'th is another then. SCALE: window scale that each SYN without ACK is given in place of its own."""
import collections
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
device, delay = sys.argv[1], float(sys.argv[2]) / 1e3
f = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
fcntl.ioctl(f, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN_NO_PI))
os.system(f"ip link set {device} up")
each = int(sys.argv[3]) if len(sys.argv) > 3 else 0
scale = int(sys.argv[4]) if len(sys.argv) > 4 else None
held, long = collections.deque(), 0


def rescaled(packet):
    """The same with another window scale, and a checksum that is right (RFC 1624)."""
    p = bytearray(packet)
    tcp = (p[0] & 15) * 4
    if p[0] >> 4 != 4 or p[9] != 6 or p[tcp + 13] & 0x12 != 2:
        return packet
    at, end = tcp + 20, tcp + (p[tcp + 12] >> 4) * 4
    while at < end and p[at]:
        if p[at] == 3:
            word = at + 2 - (at + 2 - tcp) % 2
            before = p[word] << 8 | p[word + 1]
            p[at + 2] = scale
            after = p[word] << 8 | p[word + 1]
            total = (~(p[tcp + 16] << 8 | p[tcp + 17]) & 0xFFFF) + (~before & 0xFFFF) + after
            total = (total & 0xFFFF) + (total >> 16)
            total = ~(total + (total >> 16)) & 0xFFFF
            p[tcp + 16], p[tcp + 17] = total >> 8, total & 0xFF
        at += 1 if p[at] == 1 else max(2, p[at + 1])
    return bytes(p)


def took(packet):
    global long
    if scale is not None:
        packet = rescaled(packet)
    long += len(packet) > 300
    if not each or len(packet) <= 300 or long % each:
        return packet
    return packet[:200] + bytes([packet[200] ^ 4]) + packet[201:]


while True:
    left = max(0, held[0][0] - time.monotonic()) if held else None
    readable = select.select([f], [], [], left)[0]
    now = time.monotonic()
    if readable:
        try:
            for _ in range(64):
                held.append((now + delay, took(os.read(f, 65536))))
        except BlockingIOError:
            pass
    while held and held[0][0] <= now:
        os.write(f, held.popleft()[1])
