# ticket: Since the new client library every connection to 10.9.2.2:7434 takes one second to open. The old clients' open at once.
# planted: The library uses TCP Fast Open; a rule of the router drops SYNs that carry data, and after 1 s the kernel sends a SYN without any.
# first: Fast Open
# first: 10.9.2.2:7434
# first: an nftables rule or policy | NETFILTER_DROP
plant() {
    server sysctl -qw net.ipv4.tcp_fastopen=3
    client sysctl -qw net.ipv4.tcp_fastopen=1
    server python3 - << 'PY' &
import socket, threading
listener = socket.create_server(("10.9.2.2", 7434), backlog=64)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 64)
def answer(c):
    with c:
        while c.recv(300):
            c.sendall(b"r" * 300)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.4
    # The cookie comes with a connection whose SYN has no data.
    client python3 -c "$fast" 1 0.1 fast
    rule tcp flags '&' '(syn|ack)' == syn ip length '>' 100 counter drop
}
fast='
import socket, sys, threading, time
threads, end, took = int(sys.argv[1]), time.time() + float(sys.argv[2]), []
def ask():
    while time.time() < end:
        began = time.time()
        with socket.socket() as s:
            if sys.argv[3] == "fast":
                s.sendto(b"q" * 200, 0x20000000, ("10.9.2.2", 7434))
            else:
                s.connect(("10.9.2.2", 7434))
                s.sendall(b"q" * 200)
            got = 0
            while got < 300:
                got += len(s.recv(300))
        took.append(time.time() - began)
        time.sleep(0.05)
all = [threading.Thread(target=ask) for _ in range(threads)]
[t.start() for t in all]
[t.join() for t in all]
took.sort()
print(sys.argv[3], "n", len(took), "p50 %.1f max %.1f ms" % (1e3 * took[len(took) // 2], 1e3 * took[-1]), flush=True)
'
traffic() {
    client python3 -c "$fast" 1 3 plain &
    client python3 -c "$fast" 4 3 fast
    wait
}
