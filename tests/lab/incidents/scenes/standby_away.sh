# ticket: Twice a day all that writes to 10.9.2.2:7628 hangs for two seconds, and what only reads does not. Its machine is idle.
# planted: Writes wait until 10.9.3.2, which copies them, says that it has them; from 3 to 5 s it is away, then it comes back.
# first: 10.9.2.2:7628
# first: 10.9.3.2
# first: stood again only at
plant() {
    third
    server python3 - << 'PY' &
import socket, threading, time
log, has, news = [0], [0], threading.Condition()
def standby(c):
    threading.Thread(target=feed, args=(c,), daemon=True).start()
    while said := c.recv(8):
        with news:
            has[0] = max(has[0], int(said))
            news.notify_all()
def feed(c):
    sent = 0
    try:
        while True:
            time.sleep(0.002)
            if log[0] > sent:
                sent = log[0]
                c.sendall(b"%08d" % sent)
    except OSError:
        pass
def answer(c):
    asked = c.recv(1000)
    if asked.startswith(b"copy"):
        return standby(c)
    while asked:
        if asked.startswith(b"write"):
            with news:
                log[0] += 1
                mine = log[0]
                while has[0] < mine:
                    news.wait()
        c.sendall(b"a" * 300)
        asked = c.recv(1000)
listener = socket.create_server(("10.9.2.2", 7628), backlog=64)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.5
    other python3 - << 'PY' &
import socket, time
def copy(until):
    s = socket.create_connection(("10.9.2.2", 7628))
    s.sendall(b"copy")
    s.settimeout(0.1)
    while time.time() < until:
        try:
            s.sendall(s.recv(8))
        except TimeoutError:
            pass
    s.close()
began = time.time()
copy(began + 4)
time.sleep(2)
copy(began + 60)
PY
    sleep 0.3
}
traffic() {
    ask plain 10.9.2.2 7628 7 says=write threads=6 gap=0.05 &
    ask plain 10.9.2.2 7628 7 says=read threads=4 gap=0.03
    wait
}
