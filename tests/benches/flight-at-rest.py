#!/usr/bin/env python3
"""What a flight takes that a ring which nobody drains does not: its own CPU time while nothing triggers.

flight-at-rest.py [--recorder 'target/release/netmortem-record'] [--profile rx] [--seconds 30] [--rounds 3]

A flight and a tracing instance with the same events and rings of the same size are the same to the traced paths: nobody reads either. What differs is the
flight's own threads, and their CPU time is counted by the kernel in ns (clock_getcpuclockid), whatever else the machine does: no workload is
timed. So that, by the time that passed, is what a flight costs more, but for what its few ms of a second push out of the caches.

Prints for a host at rest and for one with round trips over loopback without a pause: the share of one CPU (median and largest of the rounds, one minute or
so each), the events that the rings took meanwhile, and whether the flight had a ring open for reading, which would be draining. Needs root and tracefs.
"""
import argparse
import os
import re
import socket
import statistics
import subprocess
import tempfile
import threading
import time

TRACING = "/sys/kernel/tracing/instances"


def cpu_ns(pid):
    """Of the process: threads that enter other network namespaces have ended by the time that they are looked for."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def events(instance):
    total = 0
    for cpu in os.listdir(f"{instance}/per_cpu"):
        with open(f"{instance}/per_cpu/{cpu}/stats") as f:
            total += sum(int(n) for n in re.findall(r"^(?:entries|overrun|dropped events|read events): (\d+)", f.read(), re.M))
    return total


def reads_a_ring(pid):
    fds = f"/proc/{pid}/fd"
    held = [os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds) if os.path.lexists(f"{fds}/{fd}")]
    return sum("trace_pipe" in path for path in held)


class Traffic:
    """Round trips of one byte between two threads' sockets."""

    def __enter__(self):
        self.on = True
        a = socket.create_server(("127.0.0.1", 0))
        self.client = socket.create_connection(a.getsockname())
        self.server, _ = a.accept()
        self.threads = [threading.Thread(target=self.serve), threading.Thread(target=self.ask)]
        for t in self.threads:
            t.start()
        return self

    def serve(self):
        while data := self.server.recv(1):
            self.server.send(data)

    def ask(self):
        while self.on:
            self.client.send(b"x")
            self.client.recv(1)
        self.client.shutdown(socket.SHUT_WR)

    def __exit__(self, *_):
        self.on = False
        for t in self.threads:
            t.join()


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def one(pid, instance, seconds):
    before, cpu, counted = time.monotonic(), cpu_ns(pid), events(instance)
    time.sleep(seconds)
    wall = time.monotonic() - before
    return (cpu_ns(pid) - cpu) / 1e9 / wall * 100, (events(instance) - counted) / wall


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--recorder", default="target/release/netmortem-record")
    parser.add_argument("--profile", default="rx")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flight = [*o.recorder.split(), "--profile", o.profile, "--flight", "--on", "retransmits>1000000/s", "--on", "drops>1000000/s", "-b", "8M", "-o", f"{folder}/"]
        child = subprocess.Popen(flight, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            mine = lambda: [f"{TRACING}/{i}" for i in os.listdir(TRACING) if i.startswith(f"netmortem-{child.pid}-")]
            on = lambda i: open(f"{i}/tracing_on").read().strip() == "1"
            while child.poll() is None and not any(on(i) for i in mine()):
                time.sleep(0.1)
            time.sleep(2)
            instance = next(i for i in mine() if on(i))
            print(f"rings open for reading: {reads_a_ring(child.pid)}\n")
            print("| host | events/s | % of one CPU, median | most |\n|---|---|---|---|")
            for name, load in (("at rest", Quiet), ("round trips", Traffic)):
                with load():
                    rounds = [one(child.pid, instance, o.seconds) for _ in range(o.rounds)]
                cpu, rate = [r[0] for r in rounds], statistics.median(r[1] for r in rounds)
                print(f"| {name} | {rate:,.0f} | {statistics.median(cpu):.3f} | {max(cpu):.3f} |", flush=True)
        finally:
            child.terminate()
            child.wait()


main()
