"""Plays for the sample `seconds`: trouble of two kinds, each in a part of the time, while the kernel's counters are read ten times a second.

    seconds.py sink ADDRESS PORT                       reads what comes
    seconds.py play ADDRESS PORT PEER_NETNS OWN_ADDRESS counters.csv     in the sender's network namespace, 9 s
"""

import socket
import subprocess
import sys
import threading
import time

COUNTERS = [("Tcp", "RetransSegs"), ("Tcp", "OutSegs"), ("Udp", "RcvbufErrors"), ("Udp", "InDatagrams")]


def snmp():
    lines = open("/proc/self/net/snmp").read().split("\n")
    found = {}
    for names, values in zip(lines[::2], lines[1::2]):
        group = names.split(":")[0]
        for name, value in zip(names.split()[1:], values.split()[1:]):
            found[group, name] = value
    return [found[c] for c in COUNTERS]


def watch(path, stop):
    with open(path, "w") as out:
        out.write("before_ns,after_ns," + ",".join(group + name for group, name in COUNTERS) + "\n")
        while True:
            last = stop.wait(0.1)
            before = time.monotonic_ns()
            values = snmp()
            out.write(f"{before},{time.monotonic_ns()}," + ",".join(values) + "\n")
            if last:
                return


def sink(address, port):
    listener = socket.create_server((address, int(port)))
    peer, _ = listener.accept()
    while peer.recv(1 << 16):
        pass


def send(address, port, until):
    peer = socket.create_connection((address, int(port)))
    while time.monotonic() < until:
        peer.sendall(bytes(6000))
        time.sleep(0.02)
    peer.close()


def in_peer(netns, rules):
    nft = ["nsenter", f"--net=/run/netns/{netns}", "nft", "-f", "-"]
    subprocess.run(nft, input=rules.encode(), check=True)


def play(address, port, netns, own, path):
    begin, stop = time.monotonic(), threading.Event()
    watcher = threading.Thread(target=watch, args=(path, stop), daemon=True)
    sender = threading.Thread(target=send, args=(address, port, begin + 8.5), daemon=True)
    watcher.start()
    sender.start()
    # One segment in twelve is lost for two seconds.
    time.sleep(2.4)
    chain = "type filter hook prerouting priority 0"
    rule = f"tcp dport {port} numgen inc mod 12 == 7 drop"
    in_peer(netns, f"table ip t {{ chain c {{ {chain};\n {rule};\n }}\n }}\n")
    time.sleep(2)
    in_peer(netns, "delete table ip t\n")
    time.sleep(1.9)
    # A socket that nobody reads, full at once.
    time.sleep(1.9)
    full = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    full.bind((own, 9000))
    asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(300):
        asker.sendto(bytes(500), (own, 9000))
        time.sleep(0.003)
    sender.join()
    time.sleep(0.4)
    stop.set()
    watcher.join()


{"sink": sink, "play": play}[sys.argv[1]](*sys.argv[2:])
