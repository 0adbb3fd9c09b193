# kind: healthy
# ticket: Is the replica at 10.9.3.2 well? Now and then the primary at 10.9.2.2:7471 seems to answer it only after a second.
# planted: A primary sends what its clients write at once to a replica, which says thrice that it has it; then the client has its answer. For two seconds nobody writes.
# never: Something is wrong
# never: 10.9.2.2:7471 took
plant() {
    third
    server python3 -c "$replication" primary &
    for _ in $(seq 50); do
        server ss -Hltn "sport = :7470" | grep -q . && break
        sleep 0.1
    done
    other python3 -c "$replication" replica &
    sleep 0.5
}
replication='
import os, random, select, socket, sys, threading, time
def listen(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("10.9.2.2", port))
    s.listen(16)
    return s
def primary():
    written, woken = os.pipe()
    waiting, lock = [], threading.Lock()
    def client(s):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while s.recv(200):
            done = threading.Event()
            with lock:
                waiting.append(done)
            os.write(woken, b"w")
            done.wait()
            s.sendall(b"k" * 20)
    def clients(at):
        while True:
            threading.Thread(target=client, args=(at.accept()[0],), daemon=True).start()
    to = listen(7471)
    threading.Thread(target=clients, args=(listen(7470),), daemon=True).start()
    s = to.accept()[0]
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    both = select.poll()
    both.register(written, select.POLLIN)
    both.register(s, select.POLLIN)
    under_way, applied = [], b""
    while True:
        for fd, _ in both.poll():
            if fd == written:
                os.read(written, 64)
                with lock:
                    under_way += waiting
                    waiting.clear()
                s.sendall(b"r" * 120)
                continue
            got = s.recv(400)
            if not got:
                return
            if b"a" in got:
                [done.set() for done in under_way]
                under_way = []
def replica():
    s = socket.create_connection(("10.9.2.2", 7471))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while s.recv(4000):
        for says in (b"w", b"f", b"a"):
            s.sendall(says * 38)
            time.sleep(0.0003)
def writer(end):
    s = socket.create_connection(("10.9.2.2", 7470))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while time.time() < end:
        s.sendall(b"q" * 90)
        s.recv(100)
        time.sleep(random.expovariate(4))
if sys.argv[1] == "write":
    end = time.time() + float(sys.argv[2])
    all = [threading.Thread(target=writer, args=(end,)) for _ in range(5)]
    [t.start() for t in all]
    [t.join() for t in all]
else:
    {"primary": primary, "replica": replica}[sys.argv[1]]()
'
traffic() {
    client python3 -c "$replication" write 4
    sleep 2
}
