# ticket: In busy moments 10.9.2.2:7633 drops calls with `connection reset`. Its team sees no error: those calls are not in its log.
# planted: It has eight threads, and closes at once, unread, what comes while all of them are at work.
# first: 10.9.2.2:7633
# first: were closed by the program there
# first: unread
plant() {
    server python3 - << 'PY' &
import socket, threading, time
free = threading.Semaphore(8)
def answer(c):
    if c.recv(1000):
        time.sleep(0.1)
        c.sendall(b"a" * 300)
    c.close()
    free.release()
listener = socket.create_server(("10.9.2.2", 7633), backlog=64)
while True:
    c = listener.accept()[0]
    if free.acquire(blocking=False):
        threading.Thread(target=answer, args=(c,), daemon=True).start()
    else:
        time.sleep(0.001)
        c.close()
PY
    sleep 0.5
}
users='
import socket, threading, time
took, lost, end = [], 0, time.time() + 6
def use(gap):
    global lost
    while time.time() < end:
        at = time.time()
        try:
            with socket.create_connection(("10.9.2.2", 7633)) as s:
                s.sendall(b"q" * 200)
                took.append(time.time() - at) if s.recv(300) else None
        except OSError:
            lost += 1
        time.sleep(gap)
all = [threading.Thread(target=use, args=(0.05 + i * 0.01,)) for i in range(16)]
[t.start() for t in all]
[t.join() for t in all]
print("answered", len(took), "lost", lost)
'
traffic() { client python3 -c "$users"; }
