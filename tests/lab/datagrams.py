#!/usr/bin/env python3
"""UDP for record-samples.sh: a name server that holds its socket and does not read, one that answers, a sender whose datagrams a
router duplicates, and one that sends and never waits for an answer. Prints nothing; the plan writes what it saw.

datagrams.py hold ADDRESS PORT                     bound, never read
datagrams.py answer ADDRESS PORT                   86 bytes to whoever asks
datagrams.py sink ADDRESS PORT FILE                how often each number came, written on SIGTERM
datagrams.py knock ADDRESS...                      a datagram to a closed port: neighbours know each other then
datagrams.py plan NS FIRST SECOND SINK LOG TRUTH   all but LOG are ADDRESS:PORT; LOG gets datagrams that nobody asks an answer to
"""
import ctypes
import os
import select
import signal
import socket
import sys
import time

CLONE_NEWNET = 0x40000000
QUESTIONS = 3
TIMEOUT = 0.4
NUMBERED = 40
LOGGED = 6


def udp():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def end(text):
    address, port = text.rsplit(":", 1)
    return address, int(port)


def bound(address, port):
    s = udp()
    s.bind((address, int(port)))
    return s


def answer(s):
    while True:
        _, peer = s.recvfrom(2000)
        s.sendto(bytes(86), peer)


def sink(s, file):
    came = {}

    def write(*_):
        with open(file, "w") as f:
            f.write("number,times\n")
            for number in sorted(came):
                f.write(f"{number},{came[number]}\n")
        os._exit(0)

    signal.signal(signal.SIGTERM, write)
    while True:
        number = int.from_bytes(s.recv(2000)[:4], "big")
        came[number] = came.get(number, 0) + 1


def ask(server):
    """As a resolver does: a socket of its own, one poll, closed again."""
    before = time.monotonic_ns()
    s = udp()
    s.connect(server)
    s.send(bytes(26))
    poll = select.poll()
    poll.register(s, select.POLLIN)
    answered = bool(poll.poll(TIMEOUT * 1000))
    if answered:
        s.recv(2000)
    s.close()
    return before, time.monotonic_ns(), int(answered)


def plan(ns, first, second, to, log, truth):
    with open(f"/run/netns/{ns}") as f:
        if ctypes.CDLL(None, use_errno=True).setns(f.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    # Made before the recording has anything of them, as a daemon's are.
    logger = udp()
    logger.connect(end(log))
    pipe = os.pipe()
    rows = []
    for _ in range(QUESTIONS):
        for name, server in (("first", first), ("second", second)):
            rows.append((name, *ask(end(server))))
    numbered = udp()
    numbered.connect(end(to))
    for number in range(NUMBERED):
        numbered.send(number.to_bytes(4, "big") + bytes(96))
        time.sleep(0.004)
    # A line of a log now and then, and a poll of something else in between: nobody waits for an answer.
    poll = select.poll()
    poll.register(pipe[0], select.POLLIN)
    for _ in range(LOGGED):
        logger.send(bytes(40))
        poll.poll(150)
    with open(truth, "w") as f:
        f.write("what,before_ns,after_ns,answered\n")
        for row in rows:
            f.write(",".join(map(str, row)) + "\n")


def main():
    what, *args = sys.argv[1:]
    if what == "hold":
        _held = bound(*args)
        while True:
            signal.pause()
    elif what == "answer":
        answer(bound(*args))
    elif what == "knock":
        for address in args:
            udp().sendto(b"", (address, 9))
            time.sleep(0.3)
    elif what == "sink":
        sink(bound(*args[:2]), args[2])
    else:
        plan(*args)


main()
