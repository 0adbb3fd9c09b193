# ticket: One in four calls to 10.9.2.2:7443 takes a second. The directory that it asks, 10.9.3.2:7444, says that it answered each within a millisecond.
# planted: One in four of the directory's answers is 5 bytes shorter than it ought to be; who asked waits for them until the directory closes the connection, idle for a second.
# first: 10.9.2.2:7443
# first: waited for more of that answer than came
plant() {
    third
    other python3 - << 'PY' &
import itertools, socket, threading, time
listener, turn = socket.create_server(("10.9.3.2", 7444), backlog=64), itertools.count()
def answer(c):
    c.recv(1000)
    c.sendall(b"d" * (500 if next(turn) % 4 else 495))
    c.settimeout(1.0)
    try:
        c.recv(1)
    except OSError:
        pass
    c.close()
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    server python3 - << 'PY' &
import socket, threading
listener = socket.create_server(("10.9.2.2", 7443), backlog=64)
def exactly(s, n):
    got = b""
    while len(got) < n:
        part = s.recv(n - len(got))
        if not part:
            break
        got += part
    return got
def answer(c):
    while exactly(c, 200):
        with socket.create_connection(("10.9.3.2", 7444)) as s:
            s.sendall(b"q" * 100)
            exactly(s, 500)
        c.sendall(b"a" * 300)
    c.close()
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.7
}
traffic() {
    ask plain 10.9.2.2 7443 6
}
