# ticket: Every two seconds some pages of 10.9.1.1:7623 take half a second. All dashboards show many slow answers there: most are clients that wait for news.
# planted: The front asks 10.9.2.2:7624 for pages, where ten calls together find an entry expired every two seconds, and 10.9.2.2:7625 for news, which come after a second.
# first: 10.9.1.1:7623
# first: 10.9.2.2:7624
# first: bursts
plant() {
    server python3 - << 'PY' &
import socket, threading, time
began = time.time()
def pages(c):
    while c.recv(1000):
        # Whoever comes while the entry is expired makes it anew.
        time.sleep(0.45 if (time.time() - began) % 2 < 0.1 else 0.004)
        c.sendall(b"a" * 300)
def news(c):
    while c.recv(1000):
        time.sleep(1.0)
        c.sendall(b"a" * 300)
def serve(port, answer):
    listener = socket.create_server(("10.9.2.2", port), backlog=64)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
threading.Thread(target=serve, args=(7625, news), daemon=True).start()
serve(7624, pages)
PY
    router python3 - << 'PY' &
import socket, threading
def front(c):
    to = {}
    while asked := c.recv(1000):
        port = 7625 if asked.startswith(b"news") else 7624
        if port not in to:
            to[port] = socket.create_connection(("10.9.2.2", port))
        to[port].sendall(asked)
        c.sendall(to[port].recv(1000))
listener = socket.create_server(("10.9.1.1", 7623), backlog=64)
while True:
    threading.Thread(target=front, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.7
}
traffic() {
    ask plain 10.9.1.1 7623 8 says=news threads=10 gap=0.05 &
    ask plain 10.9.1.1 7623 8 says=page threads=10 gap=0.04
    wait
}
