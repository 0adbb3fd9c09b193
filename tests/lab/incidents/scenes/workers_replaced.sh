# ticket: Now and then each request to 10.9.2.2:7124 takes a second, all at once, and then none. No error, and the machine is idle.
# planted: Four processes accept there; each ends after so many requests as the others, at about 4 s, and its successor needs a second to load.
# first: 10.9.2.2:7124
# first: replaced at once
# first: nobody read requests
plant() {
    server python3 - << 'PY' &
import os, socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("10.9.2.2", 7124))
s.listen(128)
ends = time.time() + 5
def work(first):
    time.sleep(0.0 if first else 1.0)
    while not first or time.time() < ends:
        c = s.accept()[0]
        if c.recv(1000):
            time.sleep(0.004)
            c.sendall(b"a" * 300)
        c.close()
    os._exit(0)
for _ in range(4):
    if os.fork() == 0:
        work(True)
for _ in range(4):
    os.wait()
    if os.fork() == 0:
        work(False)
time.sleep(1000)
PY
    sleep 0.5
}
traffic() {
    client python3 - << 'PY'
import socket, threading, time
start, took = time.time(), []
def ask():
    while time.time() < start + 8:
        began = time.time()
        with socket.create_connection(("10.9.2.2", 7124), 5) as s:
            s.sendall(b"q" * 200)
            s.recv(1000)
        took.append(time.time() - began)
        time.sleep(0.03)
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
slow = [t for t in took if t > 0.2]
print(len(took), "answered,", len(slow), "after more than 0.2 s, at most", round(max(took), 3), "s")
PY
}
