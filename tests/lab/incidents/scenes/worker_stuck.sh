# ticket: One connection in eight to 10.9.2.2:7356 times out. The server is idle, and all others are answered at once.
# planted: Eight processes share the port (SO_REUSEPORT), each with its own queue. One of them waits for a lock on a file from the second second on.
# first: 10.9.2.2:7356
# first: queue
# first: one of 8 listening sockets
# first: read nothing after
plant() {
    server python3 - "$dir/lock" << 'PY' &
import fcntl, os, socket, sys, time
held = open(sys.argv[1], "w")
fcntl.flock(held, fcntl.LOCK_EX)
for _ in range(8):
    if os.fork():
        continue
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("10.9.2.2", 7356))
    s.listen(4)
    while True:
        c = s.accept()[0]
        try:
            if c.recv(1000).startswith(b"X"):
                with open(sys.argv[1]) as f:
                    fcntl.flock(f, fcntl.LOCK_EX)
            c.sendall(b"a" * 300)
        except OSError:
            pass
        c.close()
time.sleep(1000)
PY
    sleep 0.5
}
traffic() {
    client python3 - << 'PY'
import socket, threading, time
start, lost, done = time.time(), [], []
def once(what, patience):
    try:
        with socket.create_connection(("10.9.2.2", 7356), patience) as s:
            s.sendall(what)
            if not s.recv(1000):
                raise OSError("no answer")
        done.append(1)
    except OSError as e:
        lost.append(str(e))
def ask(n):
    while time.time() < start + 7:
        once(b"q" * 200, 1.5)
        time.sleep(0.02)
threads = [threading.Thread(target=ask, args=(n,)) for n in range(12)]
for t in threads:
    t.start()
time.sleep(1.2)
threading.Thread(target=once, args=(b"X", 9), daemon=True).start()
for t in threads:
    t.join()
print(len(done), "answered,", len(lost), "not:", set(lost))
PY
}
