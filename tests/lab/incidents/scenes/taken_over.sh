# ticket: Every few minutes, at deployments, a handful of clients 40 ms away from 10.9.2.2:7419 see "connection reset by peer"; callers beside it never do.
# planted: The server's new listening socket (SO_REUSEPORT) takes the port over, the old one is closed with the handshakes that it had begun.
# first: closed a listening socket
# first: 10.9.2.2:7419
# first: another one
# first: were reset
plant() {
    delay 20
    server python3 - << 'PY' &
import select, socket, time
def listening():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("10.9.2.2", 7419))
    s.listen(512)
    return s
listener, began, open_now = listening(), time.time(), set()
while time.time() < began + 60:
    ready, _, _ = select.select([listener, *open_now], [], [], 0.01)
    for s in ready:
        if s is listener:
            open_now.add(s.accept()[0])
            continue
        try:
            if s.recv(100):
                s.sendall(b"answer")
        except OSError:
            pass
        open_now.discard(s)
        s.close()
    if time.time() > began + 1:
        began += 1
        new = listening()
        listener.close()
        listener = new
PY
    sleep 0.5
}
traffic() {
    client python3 - << 'PY'
import socket, threading, time
end, counts, lock = time.time() + 4, {}, threading.Lock()
def ask():
    while time.time() < end:
        try:
            with socket.create_connection(("10.9.2.2", 7419), 3) as s:
                s.sendall(b"question")
                said = "ok" if s.recv(100) else "closed"
        except OSError as e:
            said = type(e).__name__
        with lock:
            counts[said] = counts.get(said, 0) + 1
threads = [threading.Thread(target=ask) for _ in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print(counts, flush=True)
PY
}
