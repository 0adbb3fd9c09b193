# kind: healthy
# ticket: A balancer fails to connect to 10.9.2.3:7630, seven times at once. Is anybody hurt?
# planted: Nothing: the host of one of its two servers has been off since yesterday; the balancer, 10.9.1.1:7629, checks from each of its threads whether it is back, and hands all requests to 10.9.2.2:7630.
# never: Something is wrong
plant() {
    serve server echo 7630
    # Nobody answers for 10.9.2.3: EHOSTUNREACH after 0.6 s.
    router sysctl -qw net.ipv4.neigh.rs.retrans_time_ms=200
    router python3 - << 'PY' &
import socket, threading, time
def check():
    while True:
        # All of its threads check when a second begins.
        time.sleep(1 - time.time() % 1)
        try:
            socket.create_connection(("10.9.2.3", 7630), 3).close()
        except OSError:
            pass
def work():
    while True:
        c = listener.accept()[0]
        with socket.create_connection(("10.9.2.2", 7630)) as s:
            while asked := c.recv(1000):
                s.sendall(asked)
                c.sendall(s.recv(1000))
listener = socket.create_server(("10.9.1.1", 7629), backlog=64)
for what in [check] * 7 + [work] * 4:
    threading.Thread(target=what, daemon=True).start()
time.sleep(1000)
PY
    sleep 0.5
}
traffic() { ask requests 10.9.1.1 7629 6 threads=4 gap=0.02; }
