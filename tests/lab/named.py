"""named.py delay SECONDS NETNS,DEV,ADDRESS NETNS,DEV,ADDRESS
Two TUN devices: what one sends comes out of the other after SECONDS.

named.py sink ADDRESS PORT...
Takes connections, reads each to its end; answers each upload with a byte (an upload is its length, then so many bytes).

named.py plan NETNS_A NETNS_B TARGET TRUTH.csv SS.txt
Three plants, one after the other, from A to TARGET:
 unscaled   window scaling off at B while the connection is opened; uploads for 0.5 s
 idle       uploads of 200 kB, each after a pause of 0.5 s, with slow start after idle
 clamped    an upload over a connection whose SYNs a router sets the MSS in

Standard library only.
"""

import contextlib
import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque

TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
CLONE_NEWNET = 0x40000000


def delay(seconds, *ends):
    tuns, back = {}, None
    for netns, dev, address in (end.split(",") for end in ends):
        with inside(netns):
            tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", dev.encode(), IFF_TUN_NO_PI))
            subprocess.run(["ip", "link", "set", dev, "up"], check=True)
            subprocess.run(["ip", "addr", "add", address, "dev", dev], check=True)
        tuns[tun] = back
        back = tun
    first, second = tuns
    tuns[first] = second
    held = deque()
    while True:
        wait = max(0, held[0][0] - time.monotonic()) if held else None
        for tun in select.select(list(tuns), [], [], wait)[0]:
            now = time.monotonic()
            with contextlib.suppress(BlockingIOError):
                while True:
                    held.append((now + float(seconds), tuns[tun], os.read(tun, 1 << 16)))
        while held and held[0][0] <= time.monotonic():
            _, tun, packet = held.popleft()
            os.write(tun, packet)


def serve(client):
    with client:
        while head := client.recv(8, socket.MSG_WAITALL):
            left = int.from_bytes(head, "big")
            while left > 0:
                left -= len(client.recv(min(left, 1 << 16)))
            client.sendall(b"k")


def sink(address, ports):
    listeners = [socket.create_server((address, int(p))) for p in ports]
    while True:
        for listener in select.select(listeners, [], [])[0]:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()


def setns(namespace):
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def inside(netns):
    before, of = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{netns}", os.O_RDONLY)
    setns(of)
    try:
        yield
    finally:
        setns(before)
        os.close(of)
        os.close(before)


def connect(netns, target, port):
    # The socket is of the namespace in which it is made.
    with inside(netns):
        s = socket.socket()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        s.settimeout(5)
        s.connect((target, port))
        return s


def upload(s, size):
    begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    s.sendall(size.to_bytes(8, "big") + bytes(size))
    s.recv(1)
    return begun, time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def plan(a, b, target, truth, ss):
    rows, seen = [], []

    def sysctl(netns, value):
        subprocess.run(["ip", "netns", "exec", netns, "sysctl", "-q", "-w", value], check=True)

    def note(plant, s, sizes, pause=0.0):
        for size in sizes:
            time.sleep(pause)
            port = s.getsockname()[1]
            rows.append((plant, port, size, *upload(s, size)))
        at = f"sport = :{s.getsockname()[1]}"
        text = subprocess.run(["ip", "netns", "exec", a, "ss", "-tinO", at], capture_output=True, text=True, check=True)
        seen.append(f"{plant}: {text.stdout.splitlines()[-1]}\n")

    sysctl(b, "net.ipv4.tcp_window_scaling=0")
    unscaled = connect(a, target, 7001)
    sysctl(b, "net.ipv4.tcp_window_scaling=1")
    note("unscaled", unscaled, [500_000])
    idle = connect(a, target, 7002)
    note("idle", idle, [150_000] * 3, 0.45)
    clamped = connect(a, target, 7003)
    note("clamped", clamped, [20_000])
    with open(truth, "w") as out:
        out.write("plant,port,bytes,from_ns,to_ns\n")
        out.writelines(",".join(map(str, row)) + "\n" for row in rows)
    with open(ss, "w") as out:
        out.writelines(seen)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["delay", seconds, first, second]:
            delay(seconds, first, second)
        case ["sink", address, *ports]:
            sink(address, ports)
        case ["plan", a, b, target, truth, ss]:
            plan(a, b, target, truth, ss)
        case _:
            sys.exit(__doc__)
