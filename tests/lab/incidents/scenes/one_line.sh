# ticket: One call in ten of the shop to 10.9.2.2:7423 takes 50 to 150 ms; the same calls of another program to the same server take 1 ms.
# planted: The shop asks everything over one connection, answers come in the order of its questions, and once a second it asks for a megabyte; the line has 50 Mbit/s.
# first: head-of-line
# first: shared connection
# first: 10.9.2.2:7423
plant() {
    router tc qdisc add dev rc root tbf rate 50mbit burst 32kbit limit 400kb
    serve server echo 7423
}
traffic() {
    ask requests 10.9.2.2 7423 6 gap=0.02 &
    client python3 - << 'PY'
import random, socket, threading, time
s = socket.socket()
# The line's queue, which others share, stays short.
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
s.connect(("10.9.2.2", 7423))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
end = time.time() + 6
def read():
    try:
        while s.recv(1 << 18):
            pass
    except OSError:
        pass
threading.Thread(target=read, daemon=True).start()
lock, n = threading.Lock(), [0]
def ask(large):
    time.sleep(1)
    while time.time() < end:
        with lock:
            s.sendall(b"%08d%08d" % (200, 1000000 if large else 300) + b"q" * 200)
        n[0] += 1
        time.sleep(1 if large else random.expovariate(60))
threads = [threading.Thread(target=ask, args=(large,)) for large in (True, False)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(n[0], "asked")
PY
    wait
}
