# ticket: 10.9.2.2:7433 sees one in five of its connections closed before it has answered; the users of that program complain of nothing. Are requests lost?
# planted: One in five answers from 10.9.2.2 takes 0.25 s; the client asks 10.9.3.2:7433 as well after 40 ms, takes what comes first, and closes the other connection.
# first: 10.9.2.2:7433
# first: hedge | hedging | another server
# page: gave up
plant() {
    third
    serve server echo 7433 pause=0.25 every=5
    serve other echo 7433
}
traffic() {
    client python3 - << 'PY'
import collections, select, socket, threading, time
end, took, counts = time.time() + 4, [], collections.Counter()
def connect(host):
    s = socket.create_connection((host, 7433), 3)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s
def ask():
    hosts = ["10.9.2.2", "10.9.3.2"]
    socks = [connect(h) for h in hosts]
    while time.time() < end:
        began = time.time()
        socks[0].sendall(b"%08d%08d" % (200, 300) + b"q" * 200)
        asked = 1
        if not select.select([socks[0]], [], [], 0.04)[0]:
            socks[1].sendall(b"%08d%08d" % (200, 300) + b"q" * 200)
            asked = 2
        first = select.select(socks[:asked], [], [])[0][0]
        got = 0
        while got < 300:
            got += len(first.recv(300))
        for n in range(asked):
            if socks[n] is not first:
                socks[n].close()
                socks[n] = connect(hosts[n])
        counts["asked %d, %s came first" % (asked, hosts[socks.index(first)])] += 1
        took.append(time.time() - began)
        time.sleep(0.02)
all = [threading.Thread(target=ask) for _ in range(3)]
[t.start() for t in all]
[t.join() for t in all]
took.sort()
print(dict(counts), "p50 %.1f max %.1f ms" % (1e3 * took[len(took) // 2], 1e3 * took[-1]), flush=True)
PY
}
