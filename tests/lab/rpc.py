#!/usr/bin/env python3
"""Request/response over TCP with planted delays, for recordings whose truth is known.

rpc.py plan  SEED REQUESTS SLEEPS            prints the plan: request number and planted sleep in ms
rpc.py server ADDRESS PORT PLAN TRUTH.csv    sleeps before some reads, after the request has arrived
rpc.py client ADDRESS PORT REQUESTS          one request at a time; the next one as soon as the answer is here

The server waits with poll() until a request is readable (so the request IS in the receive queue), then sleeps as
planned, then reads. Each planted sleep is logged with CLOCK_MONOTONIC before and after. The lengths of request and
answer depend on the request number only, so that a segment can be told from its neighbours.
"""
import csv
import random
import select
import socket
import sys
import time


def request_len(n):
    return 200 + (n * 37) % 1000


def answer_len(n):
    return 300 + (n * 53) % 4000


def make_plan(seed, requests, sleeps):
    r = random.Random(seed)
    for n in sorted(r.sample(range(10, requests), sleeps)):
        yield n, r.randint(5, 30)


def receive(s, n):
    got = bytearray()
    while len(got) < n:
        part = s.recv(n - len(got))
        if not part:
            raise EOFError(f"{len(got)} of {n} bytes")
        got += part
    return bytes(got)


def server(address, port, plan_file, truth_file):
    plan = {int(n): int(ms) for n, ms in csv.reader(open(plan_file))}
    listener = socket.create_server((address, port))
    s, _ = listener.accept()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    poll = select.poll()
    poll.register(s, select.POLLIN)
    rows, n = [], 0
    try:
        while True:
            poll.poll()
            if n in plan:
                start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                time.sleep(plan[n] / 1000)
                end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            request = receive(s, request_len(n))
            if n in plan:
                read = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                rows.append((n, plan[n], start, end, read, len(request)))
            s.sendall(bytes(answer_len(n)))
            n += 1
    except EOFError:
        pass
    with open(truth_file, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(("request", "planned_ms", "sleep_start_ns", "sleep_end_ns", "read_end_ns", "request_bytes"))
        w.writerows(rows)


def client(address, port, requests):
    s = socket.create_connection((address, port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for n in range(requests):
        s.sendall(bytes(request_len(n)))
        receive(s, answer_len(n))
    s.close()


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "plan":
        csv.writer(sys.stdout).writerows(make_plan(*map(int, args)))
    elif what == "server":
        server(args[0], int(args[1]), args[2], args[3])
    elif what == "client":
        client(args[0], int(args[1]), int(args[2]))
    else:
        sys.exit(__doc__)


main()
