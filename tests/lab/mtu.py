"""mtu.py sink ADDRESS PORT
Takes connections one after the other and reads them to their end.

mtu.py plan NETNS_A NETNS_R TARGET PORT TRUTH.csv
Uploads 200 kB; then has a netfilter rule in R drop the ICMP messages that R sends, makes A forget path MTUs, and uploads as
much again, for 1.2 s at most. Writes CLOCK_MONOTONIC and what came of it.

Standard library only.
"""

import socket
import subprocess
import sys
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def sink(address, port):
    with socket.create_server((address, int(port))) as listener:
        while True:
            client, _ = listener.accept()
            client.settimeout(3)
            with client:
                try:
                    while client.recv(1 << 16):
                        pass
                    client.sendall(b"k")
                except OSError:
                    pass


def upload(netns, target, port):
    code = (
        "import socket,sys;s=socket.create_connection((sys.argv[1],int(sys.argv[2])),1);s.settimeout(1.2);"
        "s.sendall(bytes(200000));s.shutdown(1);print(len(s.recv(1)))"
    )
    command = ["ip", "netns", "exec", netns, "python3", "-c", code, target, port]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "1"


def plan(a, r, target, port, truth):
    rules = "table ip t { chain c { type filter hook output priority 0; ip protocol icmp counter drop; }; }"
    with open(truth, "w", encoding="ascii") as out:
        out.write("step,from_ns,to_ns,arrived\n")
        for step in ("discovered", "filtered"):
            if step == "filtered":
                subprocess.run(["ip", "netns", "exec", r, "nft", "-f", "-"], input=rules, text=True, check=True)
                subprocess.run(["ip", "-n", a, "route", "flush", "cache"], check=True)
            before = now()
            arrived = upload(a, target, port)
            out.write(f"{step},{before},{now()},{int(arrived)}\n")


{"sink": sink, "plan": plan}[sys.argv[1]](*sys.argv[2:])
