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
    ask plain 10.9.2.2 7124 8 threads=8 gap=0.03 new=1
}
