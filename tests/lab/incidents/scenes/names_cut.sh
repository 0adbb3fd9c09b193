# ticket: Some names take 3 s since the zone was signed, or do not resolve at all; the name server, 10.9.2.2:53, answers everybody at once.
# planted: Answers for one name in four do not fit into a datagram any more, and are asked for again by TCP, whose port 53 a rule at the router drops.
# first: 10.9.2.2:53
# first: right behind an answer by UDP
# first: an nftables rule or policy
plant() {
    serve server datagrams 53 answer=60
    serve server echo 53
    rule tcp dport 53 counter drop
}
names='
import socket, threading, time
took, failed, end = [], [0], time.time() + 7
def resolve(n):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
        u.connect(("10.9.2.2", 53))
        u.send(b"%08d" % n)
        u.recv(2000)
    if n % 4 == 3:
        socket.create_connection(("10.9.2.2", 53), 3).close()
def work(i):
    n = i
    while time.time() < end:
        n += 1
        at = time.time()
        try:
            resolve(n)
            took.append(time.time() - at)
        except TimeoutError:
            failed[0] += 1
        time.sleep(0.1)
all = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[t.start() for t in all]
[t.join() for t in all]
print("resolved", len(took), "in", "%.3f ms at most; failed" % (1e3 * max(took)), failed[0])
'
traffic() { client python3 -c "$names"; }
