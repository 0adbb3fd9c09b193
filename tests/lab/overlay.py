#!/usr/bin/env python3
"""overlay.py serve PORT | ask ADDRESS PORT N: the small requests of the sample `overlay`.

The client sends 100 bytes, waits for as many, and prints CLOCK_MONOTONIC (the recording's clock) before the send and behind the
answer, ns; then it waits 40 ms."""
import socket
import sys
import time

SIZE = 100


def whole(s):
    got = 0
    while got < SIZE:
        part = s.recv(SIZE - got)
        if not part:
            return False
        got += len(part)
    return True


if sys.argv[1] == "serve":
    listener = socket.create_server(("", int(sys.argv[2])))
    s, _ = listener.accept()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while whole(s):
        s.sendall(b"y" * SIZE)
else:
    s = socket.create_connection((sys.argv[2], int(sys.argv[3])))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("before_ns,after_ns")
    for _ in range(int(sys.argv[4])):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        s.sendall(b"x" * SIZE)
        if not whole(s):
            sys.exit("the server closed")
        print(f"{before},{time.clock_gettime_ns(time.CLOCK_MONOTONIC)}")
        time.sleep(0.04)
