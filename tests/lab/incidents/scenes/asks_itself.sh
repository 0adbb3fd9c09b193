# ticket: At times all calls to 10.9.2.2:7441 hang for a second, those that need nothing as well. Its machine idles, the proxy's, too.
# planted: Three threads answer there. For one kind of calls each asks the proxy, 10.9.2.2:7442, which asks 10.9.2.2:7441: where three of these come at once nobody is left to answer, until a time-out of 1 s.
# first: 10.9.2.2:7441
# first: waits for itself
plant() {
    server python3 - << 'PY' &
import socket, threading, time
listener = socket.create_server(("10.9.2.2", 7441), backlog=64)
def work():
    while True:
        c = listener.accept()[0]
        asked = c.recv(1000)
        if asked.startswith(b"rates"):
            try:
                with socket.create_connection(("10.9.2.2", 7442), 1.0) as s:
                    s.sendall(b"r" * 100)
                    s.recv(1000)
            except TimeoutError:
                pass
        time.sleep(0.004)
        try:
            c.sendall(b"a" * 300)
        except OSError:
            pass
        c.close()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(1000)
PY
    server python3 - << 'PY' &
import socket, threading
listener = socket.create_server(("10.9.2.2", 7442), backlog=64)
def hand_on(c):
    try:
        asked = c.recv(1000)
        with socket.create_connection(("10.9.2.2", 7441)) as s:
            s.sendall(asked)
            c.sendall(s.recv(1000))
    except OSError:
        pass
    c.close()
while True:
    threading.Thread(target=hand_on, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.7
}
traffic() {
    ask plain 10.9.2.2 7441 8 says=rates threads=3 gap=1.9 new=1 &
    ask plain 10.9.2.2 7441 8 threads=5 new=1
    wait
}
