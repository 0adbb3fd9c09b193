#!/usr/bin/env python3
"""messages.py serve PORT ASKED ANSWERED | ask ADDRESS PORT N ASKED ANSWERED PAUSE_MS: messages of the samples `overlay` and `gro`.

The client sends ASKED bytes, waits for ANSWERED, and prints CLOCK_MONOTONIC (the recording's clock) before the send and behind the
answer, ns; then it waits PAUSE_MS."""
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


def serve(port, asked, answered):
    listener = socket.create_server(("", port))
    s, _ = listener.accept()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while whole(s, asked):
        s.sendall(b"y" * answered)


def ask(address, port, n, asked, answered, pause_ms):
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("before_ns,after_ns")
    for _ in range(n):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        s.sendall(b"x" * asked)
        if not whole(s, answered):
            sys.exit("the server closed")
        print(f"{before},{time.clock_gettime_ns(time.CLOCK_MONOTONIC)}")
        time.sleep(pause_ms / 1000)


if sys.argv[1] == "serve":
    serve(*map(int, sys.argv[2:]))
else:
    ask(sys.argv[2], *map(int, sys.argv[3:]))
