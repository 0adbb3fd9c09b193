#!/usr/bin/env python3
"""delay.py DEVICE MS [EACH]: a TUN device that gives back each packet MS later: a long path, in this namespace. EACH: of packets of more than 300 bytes one bit of each so
many'th is another then."""
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
held, long = collections.deque(), 0


def took(packet):
    global long
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
