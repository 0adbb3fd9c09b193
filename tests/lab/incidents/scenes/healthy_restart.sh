# kind: healthy
# ticket: 10.9.2.3:7637 refused connections for 1.5 s. Was anybody hurt by its restart?
# planted: Nothing: the spare of a pool is restarted; the balancer, 10.9.1.1:7636, checks it each 250 ms, and works by 10.9.2.2:7637 meanwhile.
# never: Something is wrong
plant() {
    server ip addr add 10.9.2.3/32 dev s0
    router ip route add 10.9.2.3 dev rs
    server python3 "$here/traffic.py" serve echo 7637 address=10.9.2.2 &
    server python3 - << 'PY' &
import socket, time
def serve(seconds):
    listener = socket.create_server(("10.9.2.3", 7637))
    listener.settimeout(0.05)
    until = time.time() + seconds
    while time.time() < until:
        try:
            with listener.accept()[0] as c:
                c.settimeout(1)
                c.sendall(b"r" * len(c.recv(1000)))
        except TimeoutError:
            pass
    listener.close()
serve(4.5)
time.sleep(1.5)
serve(60)
PY
    router python3 - << 'PY' &
import socket, threading, time
def check():
    while True:
        time.sleep(0.25)
        try:
            with socket.create_connection(("10.9.2.3", 7637), 1) as s:
                s.sendall(b"%08d%08d" % (0, 16))
                s.recv(100)
        except OSError:
            pass
def work():
    while True:
        c = listener.accept()[0]
        while asked := c.recv(1000):
            with socket.create_connection(("10.9.2.2", 7637)) as s:
                s.sendall(asked)
                c.sendall(s.recv(1000))
listener = socket.create_server(("10.9.1.1", 7636), backlog=64)
for what in [check] + [work] * 4:
    threading.Thread(target=what, daemon=True).start()
time.sleep(1000)
PY
    sleep 0.7
}
traffic() { ask requests 10.9.1.1 7636 8 threads=4 gap=0.03; }
