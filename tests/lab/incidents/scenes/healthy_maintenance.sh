# kind: healthy
# ticket: One server is out for maintenance, the firewall drops, probes fail. Is anybody hurt?
# planted: A balancer tries 10.9.3.2:7466, which is out, each half a second, and works by 10.9.2.2:7466; a stranger knocks at logins of 10.9.2.2, a prober asks for a host that is retired. Users' calls to 10.9.2.2:7465 go well.
# never: Something is wrong
plant() {
    third
    serve server echo 7465
    serve server echo 7466
    rule iifname rd tcp dport '{ 22, 23, 3389, 5900 }' drop
}
others='
import socket, struct, sys, time
what, end, n = sys.argv[1], time.time() + 5, 0
def attempt(host, port, timeout, use):
    s = socket.socket()
    s.settimeout(timeout)
    try:
        s.connect((host, port))
        use(s)
    except OSError:
        pass
    s.close()
def ask(s):
    s.sendall(b"%08d%08d" % (0, 300))
    got = 0
    while got < 300:
        got += len(s.recv(300))
def leave(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
while time.time() < end:
    if what == "balancer":
        attempt("10.9.2.2", 7466, 3, ask)
        if n % 10 == 0:
            attempt("10.9.3.2", 7466, 3, ask)
        time.sleep(0.05)
    elif what == "stranger":
        attempt("10.9.2.2", [22, 23, 3389, 5900][n % 4], 1.2, leave)
    else:
        attempt("10.9.2.2", 7465, 1, leave)
        if n % 2 == 0:
            attempt("10.9.2.77", 9100, 0.4, leave)
        time.sleep(0.3 if n % 2 else 0.1)
    n += 1
print(what, n, flush=True)
'
traffic() {
    router python3 -c "$others" balancer &
    other python3 -c "$others" stranger &
    other python3 -c "$others" prober &
    ask requests 10.9.2.2 7465 5 gap=0.01
    wait
}
