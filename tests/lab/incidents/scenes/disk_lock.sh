# ticket: Postings to 10.9.2.2:7357 take up to a quarter of a second, one behind the other. Its CPUs idle, and so does the network.
# planted: The server writes each answer to its journal under one lock, and waits for the disk, which may do 20 writes each second; four threads stand in line.
# first: 10.9.2.2:7357
# first: in the server
# first: lock
# first: state D | uninterruptibl | disk
plant() {
    slow_disk 20
    (
        echo "$BASHPID" > "$group/cgroup.procs"
        server python3 - "$dir/journal" << 'PY' &
import os, socket, sys, threading
lock, journal = threading.Lock(), open(sys.argv[1], "wb", buffering=0)
def answer(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while c.recv(1000):
            with lock:
                journal.write(b"j" * 200)
                os.fdatasync(journal.fileno())
            c.sendall(b"a" * 300)
    except OSError:
        pass
    c.close()
listener = socket.create_server(("10.9.2.2", 7357))
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    )
    sleep 0.7
}
traffic() {
    client python3 - << 'PY'
import socket, threading, time
end, took = time.time() + 5, []
def ask(n):
    s = socket.create_connection(("10.9.2.2", 7357), 6)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while time.time() < end:
        at = time.time()
        s.sendall(b"q" * 200)
        s.recv(1000)
        took.append(time.time() - at)
        time.sleep(0.03)
threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
took.sort()
print("call n", len(took), "p50 %.1f max %.1f ms" % (1e3 * took[len(took) // 2], 1e3 * took[-1]))
PY
    fast_disk "$dir/journal"
}
