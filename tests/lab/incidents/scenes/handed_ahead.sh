# ticket: Jobs brought to 10.9.2.2:7626 take 300 ms at times, some more than a second, though of its four workers three have hardly anything to do.
# planted: The broker, 10.9.2.2:7627, hands jobs to its workers by turns, also to one that is busy; each eighth job, always that of one worker, takes 300 ms.
# first: 10.9.2.2:7627
# first: lay unread
# first: handed out ahead
plant() {
    third
    server python3 - << 'PY' &
import collections, itertools, socket, threading
workers, turn, jobs = [], itertools.count(), itertools.count()
hands = threading.Lock()
def done(w):
    s, brought = w
    while said := s.recv(100):
        for _ in said:
            brought.popleft().sendall(b"a" * 300)
def hire():
    listener = socket.create_server(("10.9.2.2", 7627))
    while True:
        w = (listener.accept()[0], collections.deque())
        workers.append(w)
        threading.Thread(target=done, args=(w,), daemon=True).start()
def bring(c):
    while c.recv(1000):
        with hands:
            s, brought = workers[next(turn) % len(workers)]
            brought.append(c)
            s.sendall(b"%08d" % next(jobs))
threading.Thread(target=hire, daemon=True).start()
listener = socket.create_server(("10.9.2.2", 7626), backlog=64)
while True:
    threading.Thread(target=bring, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.5
    for _ in 1 2 3 4; do
        other python3 - << 'PY' &
import socket, time
s = socket.create_connection(("10.9.2.2", 7627))
while job := s.recv(8):
    time.sleep(0.3 if int(job) % 8 == 0 else 0.004)
    s.sendall(b"d")
PY
    done
    sleep 0.5
}
traffic() { ask plain 10.9.2.2 7626 8 threads=8 gap=0.05; }
