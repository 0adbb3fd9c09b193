# ticket: Every twentieth call to 10.9.2.2:7421 takes 30 to 60 ms, whoever asks; 10.9.3.2:7422 behind the same router never does. Nothing is lost.
# planted: The router gives each packet to and from 10.9.2.2 to a program and waits for its word (NFQUEUE); each 0.4 s it is busy for 60 ms.
# first: on the way there | on the way back
# first: NFQUEUE
# first: inspector
# never: in the server
plant() {
    third
    serve server echo 7421
    serve other echo 7422
    router python3 - << 'PY' &
import ctypes, socket, struct, time
ctypes.CDLL(None).prctl(15, b"inspector", 0, 0, 0)
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
netlink.bind((0, 0))
netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
def say(kind, attribute, body, flags=1):
    of = struct.pack("=BBH", 0, 0, socket.htons(0)) + struct.pack("=HH", len(body) + 4, attribute) + body
    of += b"\0" * (-len(of) % 4)
    netlink.send(struct.pack("=IHHII", 16 + len(of), 3 << 8 | kind, flags, 0, 0) + of)
say(2, 1, struct.pack("!BBH", 1, 0, socket.AF_INET))  # bind
say(2, 2, struct.pack("!IB", 0, 1))  # tell of packets, without what is in them
busy = time.monotonic() + 0.4
while True:
    came = netlink.recv(65536)
    while len(came) >= 20:
        length, kind = struct.unpack_from("=IH", came)
        if kind == 3 << 8:
            at = 20
            while at + 4 <= length:
                n, attribute = struct.unpack_from("=HH", came, at)
                if attribute == 1:
                    if time.monotonic() >= busy:
                        end = time.monotonic() + 0.06
                        while time.monotonic() < end:
                            pass
                        busy = end + 0.4
                    say(1, 2, struct.pack("!I", 1) + came[at + 4 : at + 8])  # accept
                at += max(4, n + 3 & ~3)
        came = came[max(16, length + 3 & ~3) :]
PY
    sleep 0.5
    # nft's own `queue` needs a module that not every kernel has.
    router iptables -A FORWARD -d 10.9.2.2 -j NFQUEUE --queue-num 0 || cannot "no iptables with NFQUEUE"
    router iptables -A FORWARD -s 10.9.2.2 -j NFQUEUE --queue-num 0
}
traffic() {
    ask requests 10.9.3.2 7422 6 gap=0.01 &
    ask requests 10.9.2.2 7421 6 gap=0.02 threads=6
    wait
}
