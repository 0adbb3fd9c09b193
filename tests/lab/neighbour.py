"""neighbour.py wrong WAIT_S NETNS DEV ADDRESS LLADDR HOLD_S TRUTH.csv
Gives a neighbour a wrong link-layer address for a while, by `ip neigh`, and writes when: CLOCK_MONOTONIC before and after each
command.

neighbour.py otherhost DEV
Prints the frames that the device dropped because they were for another host (struct rtnl_link_stats64, rx_otherhost_dropped).

Standard library only.
"""

import socket
import struct
import subprocess
import sys
import time

RTM_GETLINK, NLM_F_REQUEST, IFLA_STATS64 = 18, 1, 23
OTHERHOST = 24  # place of rx_otherhost_dropped among the u64 of rtnl_link_stats64


def wrong(wait, netns, dev, address, lladdr, hold, truth):
    steps = [
        ("wrong", float(wait), ["replace", address, "lladdr", lladdr, "nud", "permanent", "dev", dev]),
        ("deleted", float(hold), ["del", address, "dev", dev]),
    ]
    with open(truth, "w", encoding="ascii") as out:
        out.write("step,before_ns,after_ns\n")
        for step, wait_s, command in steps:
            time.sleep(wait_s)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            subprocess.run(["ip", "-n", netns, "neigh", *command], check=True)
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            out.write(f"{step},{before},{after}\n")


def otherhost(dev):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as s:
        ifinfo = struct.pack("=BxHiII", 0, 0, socket.if_nametoindex(dev), 0, 0)
        s.send(struct.pack("=IHHII", 16 + len(ifinfo), RTM_GETLINK, NLM_F_REQUEST, 1, 0) + ifinfo)
        answer = s.recv(1 << 16)
    at = 32
    while at + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind == IFLA_STATS64:
            print(struct.unpack_from("=Q", answer, at + 4 + 8 * OTHERHOST)[0])
        at += (length + 3) & ~3


{"wrong": wrong, "otherhost": otherhost}[sys.argv[1]](*sys.argv[2:])
