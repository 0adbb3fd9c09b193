# ticket: One in eight calls to 10.9.1.1:7431 takes 0.6 s longer. Its log has no error, and what stands behind it (10.9.2.2:7432) answers at once.
# planted: Its list has a second address, 10.9.4.2, of a host that is gone: the thread tries that for 0.6 s, then takes the other.
# first: 10.9.1.1:7431
# first: 10.9.4.2:7432
# first: tried to connect | attempt to connect | connecting
# first: no answer | not answer
plant() {
    # What is sent there comes to nobody in this kernel.
    path 60000 tun1
    router ip route add 10.9.4.2/32 dev tun1
    serve server echo 7432
    router python3 - << 'PY' &
import itertools, socket, threading
def exactly(s, n):
    got = b""
    while len(got) < n:
        part = s.recv(n - len(got))
        if not part:
            raise OSError("closed")
        got += part
    return got
turn = itertools.count()
def answer(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        while True:
            head = exactly(c, 16)
            body = exactly(c, int(head[:8]))
            hosts = ["10.9.2.2"] if next(turn) % 8 else ["10.9.4.2", "10.9.2.2"]
            for host in hosts:
                try:
                    with socket.create_connection((host, 7432), 0.6) as s:
                        s.sendall(head + body)
                        c.sendall(exactly(s, int(head[8:])))
                    break
                except TimeoutError:
                    pass
    except OSError:
        c.close()
listener = socket.create_server(("10.9.1.1", 7431))
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.5
}
traffic() {
    ask requests 10.9.2.2 7432 5 gap=0.05 &
    ask requests 10.9.1.1 7431 5 threads=3 gap=0.03
    wait
}
