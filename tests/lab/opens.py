"""opens.py server ADDRESS PORT...
Listens and closes what it accepts when the peer does.

opens.py client ADDRESS TRUTH.csv
Opens connections that stand, are refused, wait for a SYN to be sent again, get no answer, find no route or no local port, and one
that a router resets; writes of each CLOCK_MONOTONIC before and after connect, and what it gave. What makes them so is outside
(record-samples.sh).

Standard library only.
"""

import errno
import selectors
import socket
import sys
import time


def server(address, *ports):
    selector = selectors.DefaultSelector()
    for port in ports:
        listener = socket.create_server((address, int(port)))
        selector.register(listener, selectors.EVENT_READ, True)
    while True:
        for key, _ in selector.select():
            if key.data:
                selector.register(key.fileobj.accept()[0], selectors.EVENT_READ, False)
            elif not key.fileobj.recv(65536):
                selector.unregister(key.fileobj)
                key.fileobj.close()


def client(address, truth):
    kept = []
    with open(truth, "w", encoding="ascii") as out:
        out.write("plan,port,local,before_ns,after_ns,error\n")

        def attempt(plan, port, to=address, timeout=None, keep=False, send=b""):
            s = socket.socket()
            s.settimeout(timeout)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            try:
                s.connect((to, port))
                error = ""
            except TimeoutError as e:
                error = "given up" if e.errno is None else errno.errorcode[e.errno]
            except OSError as e:
                error = errno.errorcode[e.errno]
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            local = s.getsockname()[1]
            if send:
                s.sendall(send)
                try:
                    s.recv(1)
                except ConnectionResetError:
                    plan = "reset"
            out.write(f"{plan},{port},{local},{before},{after},{error}\n")
            if keep:
                kept.append(s)
            else:
                s.close()
                time.sleep(0.01)

        for _ in range(10):
            attempt("stands", 7000)
        for _ in range(3):
            attempt("refused", 7001)
        for _ in range(2):
            attempt("sent again", 7002)
        for _ in range(2):
            attempt("no answer", 7003, timeout=0.3)
        attempt("no route", 7000, to="203.0.113.1")
        attempt("cut", 7004, send=b"x" * 400)
        for _ in range(12):
            attempt("kept", 7005, keep=True)
        for _ in range(5):
            attempt("no port", 7005)


{"server": server, "client": client}[sys.argv[1]](*sys.argv[2:])
