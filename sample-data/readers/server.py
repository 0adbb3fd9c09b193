# Receiver in namespace b: a socket with SO_RCVLOWAT, then a thread that serves one connection while another waits. Writes what it did, in ns of CLOCK_MONOTONIC.
import select, socket, sys, time
now = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
log = open(sys.argv[1], 'w')
l = socket.socket(); l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); l.bind(('10.99.1.2', 7000)); l.listen(8)
c, _ = l.accept()
c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 4000)
while True:
    d = c.recv(65536)
    print('read', now(), len(d), file=log)
    if not d: break
c.close()
a, (_, pa) = l.accept()
b, (_, pb) = l.accept()
print('ports', pa, pb, file=log)
e = select.epoll(); e.register(a, select.EPOLLIN); e.register(b, select.EPOLLIN)
done = False
while not done:
    for fd, _ in sorted(e.poll(), key=lambda x: x[0]):
        if fd == a.fileno():
            t = now(); d = a.recv(4096)
            if not d: done = True; break
            until = now() + 8_000_000
            while now() < until: pass
            a.send(b'r' * 300)
            print('busy', t, now(), file=log)
        else:
            d = b.recv(4096)
            print('other', now(), len(d), file=log)
            if d: b.send(b's' * 10)
