#!/usr/bin/env python3
"""gro.py serve PORT SIZE | send ADDRESS PORT N SIZE: the messages of the sample `gro`.

The client sends SIZE bytes, waits for one byte that says they were all read, and prints CLOCK_MONOTONIC (the recording's clock)
before the send and behind the answer, ns; then it waits 5 ms."""
import socket
import sys
import time


def whole(s, size):
    got = 0
    while got < size:
        part = s.recv(size - got)
        if not part:
            return False
        got += len(part)
    return True


if sys.argv[1] == "serve":
    size = int(sys.argv[3])
    listener = socket.create_server(("", int(sys.argv[2])))
    s, _ = listener.accept()
    while whole(s, size):
        s.sendall(b"y")
else:
    s = socket.create_connection((sys.argv[2], int(sys.argv[3])))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("before_ns,after_ns")
    for _ in range(int(sys.argv[4])):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        s.sendall(b"x" * int(sys.argv[5]))
        if not whole(s, 1):
            sys.exit("the server closed")
        print(f"{before},{time.clock_gettime_ns(time.CLOCK_MONOTONIC)}")
        time.sleep(0.005)
