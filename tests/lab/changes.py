"""Plays for the sample `changes`: a host that is asked every 10 ms, while its network is changed, each change at a known time.

    changes.py answer ADDRESS PORT
    changes.py ask ADDRESS PORT                              until it is killed
    changes.py play NETNS_A NETNS_R NETNS_B planted.csv      8 s; a asks b by way of r
"""

import socket
import subprocess
import sys
import time


def answer(address, port):
    listener = socket.create_server((address, int(port)))
    peer, _ = listener.accept()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        asked = peer.recv(65536)
        if not asked:
            return
        peer.sendall(b"x" * 600)


def ask(address, port):
    peer = socket.create_connection((address, int(port)))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        peer.sendall(b"y" * 200)
        got = 0
        while got < 600:
            got += len(peer.recv(65536))
        time.sleep(0.01)


def play(a, r, b, path):
    tbf = "tc qdisc add dev rb root tbf rate 64kbit burst 1600 limit 6000"
    drop = "nft add rule inet t c tcp sport 7000 numgen inc mod 8 == 5 drop"
    # After so long, where, by which program, of what, what is said, the command. What is said of a container that comes and goes is not here.
    plan = [
        (1.5, r, "tc", "qdisc", "root qdisc of rb became tbf rate=64000bit/s", tbf),
        (1.0, r, "tc", "qdisc", "root qdisc of rb was removed (tbf", "tc qdisc del dev rb root"),
        (1.0, b, "nft", "ruleset", "nftables rules were changed (1 table, chain or set added)", "nft add table inet t"),
        (0.0, b, "nft", "ruleset", "(1 table, chain or set added) in t/c",
         ["nft", "add chain inet t c { type filter hook output priority 0 ; }"]),
        (0.0, b, "nft", "ruleset", "(1 rule added) in t/c", drop),
        (1.0, b, "nft", "ruleset", "(1 rule deleted) in t/c", "nft flush chain inet t c"),
        (0.7, a, "ip", "route", "route default became mtu 1400 via 10.86.1.1 dev a0 (before: via 10.86.1.1 dev a0)",
         "ip route change default via 10.86.1.1 mtu 1400"),
        (0.0, a, "ip", "route", "route blackhole 10.99.0.0/16", "ip route add blackhole 10.99.0.0/16"),
        (0.0, a, "ip", "rule", "routing rule 77 (from 10.98.0.0/16 table 7) was set", "ip rule add from 10.98.0.0/16 table 7 priority 77"),
        (0.0, a, "ip", "address", "address 10.86.9.9/32 was given to a0", "ip address add 10.86.9.9/32 dev a0"),
        (0.0, a, "", "sysctl", "net.ipv4.tcp_sack from 1 to 0", "sysctl -qw net.ipv4.tcp_sack=0"),
        (0.3, a, "", "sysctl", "net.ipv4.tcp_sack from 0 to 1", "sysctl -qw net.ipv4.tcp_sack=1"),
        (0.0, a, "", "sysctl", "net.ipv4.conf.a0.rp_filter from 0 to 2", "sysctl -qw net.ipv4.conf.a0.rp_filter=2"),
        (0.7, r, "", "link", "MTU of ra from 1500 to 1480", "ip link set ra mtu 1480"),
        (0.0, r, "", None, None, "ip link add vc type veth peer name vd"),
        (0.0, r, "", None, None, "ip link set vc up"),
        (0.0, r, "", None, None, "ip link del vc"),
    ]
    with open(path, "w") as out:
        out.write("before_ns|after_ns|netns|program|what|says\n")
        for wait, where, program, what, says, command in plan:
            time.sleep(wait)
            words = command if isinstance(command, list) else command.split(" ")
            before = time.monotonic_ns()
            subprocess.run(["ip", "netns", "exec", where] + words, check=True)
            after = time.monotonic_ns()
            if what:
                out.write(f"{before}|{after}|{where}|{program}|{what}|{says}\n")
    time.sleep(1.0)


{"answer": answer, "ask": ask, "play": play}[sys.argv[1]](*sys.argv[2:])
