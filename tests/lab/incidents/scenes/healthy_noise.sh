# kind: healthy
# ticket: The router's filter counts hundreds of dropped packets. Does anybody miss them?
# planted: A stranger at 10.9.3.2 scans ports and sends datagrams without waiting; visitors close connections that the router has forgotten, so it drops their FINs. Users' calls to 10.9.2.2:7439 go well.
# never: Something is wrong
plant() {
    third
    serve server echo 7439
    rule iifname rd tcp dport != 7439 counter drop
    rule iifname rd udp dport 1-65535 counter drop
    rule ct state established accept
    rule tcp flags '&' '(syn|ack)' == syn accept
    rule tcp dport 7439 tcp flags fin counter drop
    rule tcp sport 7439 tcp flags fin counter drop
    router sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=1 net.netfilter.nf_conntrack_tcp_loose=0 2> /dev/null ||
        cannot "no connection tracking in a namespace"
    client python3 -c "$visitors" visit 1.0 2> /dev/null
    # From before the recording on: that it has one thread is in the lists of tasks then.
    other python3 -c "$visitors" send 9 &
    sleep 0.3
}
visitors='
import random, socket, sys, threading, time
what, seconds = sys.argv[1], float(sys.argv[2])
end, n = time.time() + seconds, [0, 0]
def visit():
    s = socket.create_connection(("10.9.2.2", 7439), 3)
    s.sendall(b"%08d%08d" % (100, 300) + b"q" * 100)
    got = 0
    while got < 300:
        got += len(s.recv(300))
    time.sleep(1.9)
    s.close()
    n[0] += 1
def visits():
    while time.time() < end - 2:
        visit()
def scan():
    ports = random.Random(1).sample(range(1, 65000), 1000)
    while time.time() < end:
        s = socket.socket()
        s.settimeout(0.03)
        try:
            s.connect(("10.9.2.2", ports.pop()))
        except OSError:
            pass
        s.close()
        n[0] += 1
def send():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while time.time() < end:
        u.sendto(b"probe", ("10.9.2.2", 1000 + n[1] % 5000))
        n[1] += 1
        time.sleep(0.02)
if what == "send":
    send()
work = {"visit": [visits] * 10, "scan": [scan], "send": []}[what]
all = [threading.Thread(target=w) for w in work]
[t.start() for t in all]
[t.join() for t in all]
print(what, n, flush=True)
'
traffic() {
    other python3 -c "$visitors" scan 4 &
    client python3 -c "$visitors" visit 4 &
    ask requests 10.9.2.2 7439 4 gap=0.01
    wait
}
