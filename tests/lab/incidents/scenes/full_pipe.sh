# ticket: All requests to 10.9.2.2:7642 stand still for two seconds, twice within ten. Its CPU is idle, its disk too.
# planted: Its threads write a line to a pipe before they answer. Who reads that sends it to a collector, 10.9.3.2:7643, which reads nothing for 2 s: its window closes, the pipe is full.
# first: 10.9.2.2:7642
# first: asleep in write
# first: could not send to 10.9.3.2:7643
plant() {
    third
    other python3 - << 'PY' &
import socket, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
listener.bind(("10.9.3.2", 7643))
listener.listen(8)
c, began = listener.accept()[0], None
while c.recv(65536):
    began = began or time.time()
    if 2.5 < (time.time() - began) % 5 < 2.6:
        time.sleep(2)
PY
    sleep 0.5
    server python3 - << 'PY' &
import os, socket, threading
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
    s.connect(("10.9.3.2", 7643))
    while line := os.read(read, 65536):
        s.sendall(line)
    os._exit(0)
os.close(read)
def serve(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while c.recv(1000):
        os.write(write, b"l" * 4000)
        c.sendall(b"a" * 300)
listener = socket.create_server(("10.9.2.2", 7642), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
    for _ in $(seq 50); do
        server ss -Hltn "sport = :7642" | grep -q . && return
        sleep 0.1
    done
}
traffic() { ask requests 10.9.2.2 7642 11 threads=16 gap=0.08; }
