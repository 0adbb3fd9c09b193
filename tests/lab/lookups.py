#!/usr/bin/env python3
"""Name lookups for record-samples.sh: a name server that takes its time, and programs whose calls wait for it. Prints nothing; the plan
writes what it saw.

lookups.py name ADDRESS PORT SECONDS               two answers for two questions of a round, after SECONDS of sleep
lookups.py web ADDRESS PORT                        answers each request on TCP at once
lookups.py front ADDRESS PORT NAME                 before each answer a round of questions to NAME
lookups.py plan NS NAME WEB FRONT TRUTH            all but NS and TRUTH are ADDRESS:PORT
  CALLS times ROUNDS rounds of questions one after the other, each with a socket of its own as the C library's resolver does (A and AAAA at
  once, a poll, both answers, closed), then a request to WEB on a new connection; then ASKED requests to FRONT on one connection.
"""
import ctypes
import select
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
CALLS, ROUNDS, ASKED = 8, 5, 20
QUESTION, ANSWER = 34, 90


def end(text):
    address, port = text.rsplit(":", 1)
    return address, int(port)


def udp():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def name(address, port, seconds):
    s = udp()
    s.bind((address, int(port)))
    while True:
        # The first of a round; the second one lies in the queue meanwhile.
        _, peer = s.recvfrom(2000)
        time.sleep(float(seconds))
        s.sendto(bytes(ANSWER), peer)
        _, peer = s.recvfrom(2000)
        s.sendto(bytes(ANSWER), peer)


def lookup(server):
    before = time.monotonic_ns()
    s = udp()
    s.connect(server)
    for _ in range(2):
        s.send(bytes(QUESTION))
    poll = select.poll()
    poll.register(s, select.POLLIN)
    for _ in range(2):
        poll.poll(5000)
        s.recv(2000)
    s.close()
    return before, time.monotonic_ns()


def serve(address, port, before):
    listener = socket.create_server((address, int(port)))
    while True:
        client, _ = listener.accept()
        with client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while client.recv(2000):
                before()
                client.sendall(bytes(300))


def ask(s):
    before = time.monotonic_ns()
    s.sendall(bytes(80))
    left = 300
    while left > 0:
        left -= len(s.recv(left))
    return before, time.monotonic_ns()


def plan(ns, name_server, web, front, truth):
    with open(f"/run/netns/{ns}") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    rows = []
    for call in range(CALLS):
        rows += [("lookup", call, *lookup(end(name_server))) for _ in range(ROUNDS)]
        with socket.create_connection(end(web)) as s:
            rows.append(("web", call, *ask(s)))
        time.sleep(0.02)
    with socket.create_connection(end(front)) as s:
        rows += [("front", n, *ask(s)) for n in range(ASKED)]
    with open(truth, "w") as f:
        f.write("what,call,before_ns,after_ns\n")
        for row in rows:
            f.write(",".join(map(str, row)) + "\n")


def main():
    what, *args = sys.argv[1:]
    if what == "name":
        name(*args)
    elif what == "web":
        serve(*args, lambda: None)
    elif what == "front":
        serve(*args[:2], lambda: lookup(end(args[2])))
    else:
        plan(*args)


main()
