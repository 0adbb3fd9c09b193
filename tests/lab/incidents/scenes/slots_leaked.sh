# ticket: For some seconds most new connections to 10.9.2.2:7631 end at once with `too many clients`; then all is well again. The server says that it had hardly any work.
# planted: It allows 40 connections. A worker at 10.9.3.2 opens one after the other from 1 s on and uses none; it is restarted at 6 s.
# first: 10.9.2.2:7631
# first: closed by the server itself
# first: 10.9.3.2
plant() {
    third
    server python3 - << 'PY' &
import socket, threading
stand = [0]
def answer(c):
    stand[0] += 1
    try:
        while c.recv(1000):
            if stand[0] > 40:
                c.sendall(b"E" * 60)
                break
            c.sendall(b"a" * 300)
    except OSError:
        pass
    c.close()
    stand[0] -= 1
listener = socket.create_server(("10.9.2.2", 7631), backlog=64)
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.5
}
worker='
import socket, time
all = []
while len(all) < 60:
    s = socket.create_connection(("10.9.2.2", 7631))
    s.sendall(b"q" * 200)
    s.recv(300)
    all.append(s)
    time.sleep(0.04)
time.sleep(60)
'
users='
import socket, time
got, end = {60: 0, 300: 0}, time.time() + 8
while time.time() < end:
    with socket.create_connection(("10.9.2.2", 7631)) as s:
        s.sendall(b"q" * 200)
        got[len(s.recv(300))] += 1
        for _ in range(3):
            time.sleep(0.01)
            s.sendall(b"q" * 200)
            if not s.recv(300):
                break
    time.sleep(0.03)
print("answered", got[300], "refused", got[60])
'
traffic() {
    for _ in 1 2 3; do client python3 -c "$users" & done
    sleep 1
    other timeout -s KILL 5 python3 -c "$worker" &
    wait
}
