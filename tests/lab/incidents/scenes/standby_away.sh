# ticket: All writes to 10.9.2.2:7445 hung for more than a second, at one time, and then all went through. Its disk and its CPU were idle.
# planted: The server answers a write when its standby, 10.9.3.2, has it; that one goes at about 3 s and is back 1.5 s later.
# first: 10.9.2.2:7445
# first: 10.9.3.2
# first: stood again only at
plant() {
    third
    server python3 - << 'PY' &
import socket, threading
writes, standbys = socket.create_server(("10.9.2.2", 7445), backlog=64), socket.create_server(("10.9.2.2", 7446))
held, last, there, link = threading.Condition(), [0], [0], [None]
def tell():
    if link[0]:
        try:
            link[0].sendall(b"%08d" % last[0])
        except OSError:
            pass
def write(c):
    while c.recv(200, socket.MSG_WAITALL):
        with held:
            last[0] += 1
            own = last[0]
            tell()
            while there[0] < own:
                held.wait()
        c.sendall(b"a" * 100)
    c.close()
def standby(c):
    with held:
        link[0] = c
        tell()
    while True:
        try:
            got = c.recv(8, socket.MSG_WAITALL)
        except OSError:
            got = b""
        with held:
            if not got:
                link[0] = None if link[0] is c else link[0]
                return c.close()
            there[0] = max(there[0], int(got))
            held.notify_all()
def accept(listener, work):
    while True:
        c = listener.accept()[0]
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=work, args=(c,), daemon=True).start()
threading.Thread(target=accept, args=(writes, write), daemon=True).start()
accept(standbys, standby)
PY
    sleep 0.7
}
traffic() {
    other python3 - << 'PY' &
import socket, time
start = time.time()
def follow(until):
    with socket.create_connection(("10.9.2.2", 7446)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(0.1)
        while time.time() < until:
            try:
                s.sendall(s.recv(8, socket.MSG_WAITALL))
            except TimeoutError:
                pass
follow(start + 3)
time.sleep(1.5)
follow(start + 7.5)
PY
    client python3 - << 'PY'
import socket, threading, time
start, took = time.time(), []
def ask():
    with socket.create_connection(("10.9.2.2", 7445), 5) as s:
        while time.time() < start + 7:
            began = time.time()
            s.sendall(b"w" * 200)
            s.recv(100, socket.MSG_WAITALL)
            took.append(time.time() - began)
            time.sleep(0.1)
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(took), "answered,", sum(t > 0.3 for t in took), "after more than 0.3 s, at most", round(max(took), 3), "s")
PY
    wait
}
