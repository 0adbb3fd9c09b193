#!/usr/bin/env python3
"""What recording costs, side by side: nothing, netmortem, its peers, and the kernel's own floor, with the same events.

recorder-cost.py [--profile rx] [--rounds 3] [--seconds 3] [--recorder 'target/release/netmortem record']

Workloads, between two network namespaces joined by a veth: one TCP stream (iperf3, Gbit/s), small UDP datagrams (iperf3, 64
bytes, as fast as they go, datagrams/s that arrive), request and response of one byte (round trips/s, 50th and 99th percentile).
Recorders take turns within a round, so that a change of the machine hits all; the median of the rounds is printed.

  nothing        no recorder
  floor          the events enabled in a tracing instance, nobody reads: what the kernel takes
  netmortem      as it is by default
  netmortem-perf with --backend perf, where it has that
  flight         netmortem --flight, nothing triggers
  perf           perf record -a, the same events, default buffers
  trace-cmd      trace-cmd record in an instance of its own, the same events, default buffers

CPU seconds are those of the recorder and what it starts, from its start to its end, all that it writes included. Bytes for
each event are of the file; lost as each says itself. Needs root, iproute2, iperf3; without perf or trace-cmd they are left out.
Prints a Markdown table for each workload. Work for a quiet machine: the noise of `nothing` is printed as its spread.
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

TRACING = "/sys/kernel/tracing"
ID = f"nmcost{os.getpid()}"
A, B = f"{ID}-a", f"{ID}-b"


def sh(line, **more):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True, **more).stdout


class Network:
    def __enter__(self):
        for ns in (A, B):
            sh(f"ip netns add {ns} && ip -n {ns} link set lo up")
        sh(f"ip link add v0 netns {A} type veth peer name v1 netns {B}")
        for ns, dev, address in ((A, "v0", "10.95.0.1"), (B, "v1", "10.95.0.2")):
            sh(f"ip -n {ns} addr add {address}/24 dev {dev} && ip -n {ns} link set {dev} up")
        self.servers = [
            subprocess.Popen(["ip", "netns", "exec", B, *argv], stdout=subprocess.DEVNULL)
            for argv in (["iperf3", "-s"], [sys.executable, __file__, "--echo"])
        ]
        deadline = time.time() + 20
        while time.time() < deadline:
            listening = sh(f"ip netns exec {B} ss -ltnH")
            if ":5201 " in listening and ":7001 " in listening:
                return self
            time.sleep(0.1)
        self.__exit__()
        raise SystemExit("the servers did not start")

    def __exit__(self, *_):
        for s in self.servers:
            s.kill()
            s.wait()
        for ns in (A, B):
            subprocess.run(["ip", "netns", "del", ns])


def echo():
    listener = socket.create_server(("10.95.0.2", 7001))
    while True:
        s, _ = listener.accept()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (b := s.recv(1)):
            s.send(b)


def tcp(seconds):
    out = sh(f"ip netns exec {A} iperf3 -c 10.95.0.2 -t {seconds} -J")
    return {"Gbit/s": json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e9}


def udp(seconds):
    out = json.loads(sh(f"ip netns exec {A} iperf3 -c 10.95.0.2 -u -b 0 -l 64 -t {seconds} -J"))["end"]["sum"]
    return {"datagrams/s": (out["packets"] - out["lost_packets"]) / out["seconds"]}


def rpc(seconds):
    out = sh(f"ip netns exec {A} {sys.executable} {__file__} --ask {seconds}")
    return json.loads(out)


def ask(seconds):
    s = socket.create_connection(("10.95.0.2", 7001))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took, end = [], time.perf_counter_ns() + int(seconds * 1e9)
    at = time.perf_counter_ns()
    while at < end:
        s.send(b"x")
        s.recv(1)
        now = time.perf_counter_ns()
        took.append(now - at)
        at = now
    took.sort()
    n = len(took)
    print(json.dumps({"round trips/s": n / seconds, "p50 us": took[n // 2] / 1e3, "p99 us": took[n * 99 // 100] / 1e3}))


class Refused(Exception):
    """A recorder that does not run here, and what it says."""


class Recorder:
    """Starts on entering, has ended on leaving; what it says of itself is then in the fields."""

    events = lost = size = None
    cpu = 0.0
    argv = None
    stop = signal.SIGINT

    def __init__(self, events, folder):
        self.wanted, self.file = events, f"{folder}/out"

    def __enter__(self):
        if self.argv:
            self.said = tempfile.TemporaryFile("w+")
            self.child = subprocess.Popen(self.argv, stdout=self.said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            deadline = time.time() + 20
            while not self.started() and self.child.poll() is None and time.time() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
            if self.child.poll() is not None:
                self.said.seek(0)
                raise Refused(self.said.read().strip().replace("\n", "; ") or "it ended at once")
        return self

    def __exit__(self, *_):
        if self.argv:
            self.child.send_signal(self.stop)
            _, _, usage = os.wait4(self.child.pid, 0)
            self.cpu = usage.ru_utime + usage.ru_stime
            self.said.seek(0)
            self.read(self.said.read())

    def started(self):
        return os.path.exists(self.file)

    def read(self, said):
        pass


class Nothing(Recorder):
    pass


class Floor(Recorder):
    def __enter__(self):
        self.path = f"{TRACING}/instances/{ID}"
        os.mkdir(self.path)
        self.write("buffer_size_kb", "8192")
        self.write("trace_clock", "mono")
        for e in self.wanted:
            self.write(f"events/{e.replace(':', '/')}/enable", "1")
        return self

    def write(self, file, value):
        with open(f"{self.path}/{file}", "w") as f:
            f.write(value)

    def __exit__(self, *_):
        self.write("tracing_on", "0")
        self.write("events/enable", "0")
        self.events = 0
        for cpu in os.listdir(f"{self.path}/per_cpu"):
            with open(f"{self.path}/per_cpu/{cpu}/stats") as f:
                text = f.read()
            self.events += sum(int(n) for n in re.findall(r"^(?:entries|overrun|dropped events): (\d+)", text, re.M))
        os.rmdir(self.path)


class Netmortem(Recorder):
    more = ()

    def __init__(self, events, folder):
        super().__init__(events, folder)
        self.argv = [*OPTIONS.recorder.split(), "--profile", OPTIONS.profile, "-o", self.file, *self.more]

    def started(self):
        return tracing_on("netmortem-") and os.path.exists(self.file) and os.path.getsize(self.file) > 100_000

    def read(self, said):
        with tarfile.open(self.file) as t:
            end = json.load(t.extractfile("end.json"))
        stats = end["cpu_stats"]
        self.events = sum(s["read_events"] for s in stats)
        self.lost = sum(s["overrun"] + s["dropped_events"] + s["commit_overrun"] for s in stats)
        self.size = os.path.getsize(self.file)


class NetmortemPerf(Netmortem):
    more = ("--backend", "perf")

    def started(self):
        return os.path.exists(self.file) and os.path.getsize(self.file) > 100_000


class Flight(Netmortem):
    more = ("--flight", "--on", "retransmits>1000000/s")

    def started(self):
        return tracing_on("netmortem-")

    def read(self, said):
        pass


class Perf(Recorder):
    def __init__(self, events, folder):
        super().__init__(events, folder)
        self.argv = ["perf", "record", "-a", "-o", self.file, "-e", ",".join(events)]

    def read(self, said):
        stats = sh(f"perf report --stats -i {self.file} 2>/dev/null")
        count = lambda name: sum(int(n) for n in re.findall(rf"^\s*{name} events:\s*(\d+)", stats, re.M)[:1])
        self.events, self.size = count("SAMPLE"), os.path.getsize(self.file)
        self.lost = count("LOST_SAMPLES") or count("LOST")


class TraceCmd(Recorder):
    def __init__(self, events, folder):
        super().__init__(events, folder)
        each = [w for e in events for w in ("-e", e)]
        self.argv = ["trace-cmd", "record", "-B", ID, "-b", "8192", "-C", "mono", *each, "-o", self.file]

    def started(self):
        return tracing_on(ID)

    def read(self, said):
        self.size = os.path.getsize(self.file)
        count = lambda name: sum(int(n) for n in re.findall(rf"^\s*{name}: (\d+)", said, re.M))
        self.events = count("read events") + count("entries")
        self.lost = count("overrun") + count("dropped events")


def tracing_on(prefix):
    for name in os.listdir(f"{TRACING}/instances"):
        if name.startswith(prefix):
            try:
                with open(f"{TRACING}/instances/{name}/tracing_on") as f, open(f"{TRACING}/instances/{name}/events/enable") as e:
                    if f.read() == "1\n" and e.read() != "0\n":
                        return True
            except OSError:
                pass
    return False


def events_of_profile(folder):
    """Those that a recording of the profile enables without a filter of their own."""
    path = f"{folder}/events.nmb"
    subprocess.run([*OPTIONS.recorder.split(), "--profile", OPTIONS.profile, "-d", "100ms", "-o", path], check=True, capture_output=True)
    with tarfile.open(path) as t:
        events = json.load(t.extractfile("manifest.json"))["plan"]["events"]
    return [e["name"] for e in events if not e.get("filter")], [e["name"] for e in events if e.get("filter")]


def main():
    with tempfile.TemporaryDirectory(prefix=ID) as folder, Network():
        events, filtered = events_of_profile(folder)
        recorders = {"nothing": Nothing, "floor": Floor, "netmortem": Netmortem, "flight": Flight}
        if "--backend" in sh(f"{OPTIONS.recorder} --help"):
            recorders["netmortem-perf"] = NetmortemPerf
        for name, kind in (("perf", Perf), ("trace-cmd", TraceCmd)):
            if shutil.which(name):
                recorders[name] = kind
        loads = {"tcp": tcp, "udp": udp, "rpc": rpc}
        print(f"Linux {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f} before; profile {OPTIONS.profile}: "
              f"{len(events)} kinds of events for all, {len(filtered)} more with a filter for netmortem only; "
              f"{OPTIONS.rounds} rounds of {OPTIONS.seconds} s")
        for load, run in loads.items():
            got = {name: [] for name in recorders}
            for _ in range(OPTIONS.rounds):
                for name, kind in list(recorders.items()):
                    try:
                        with kind(events, folder) as r:
                            result = run(OPTIONS.seconds)
                    except Refused as why:
                        print(f"without {name}: {why}")
                        recorders.pop(name)
                        got.pop(name)
                        if os.path.isdir(f"{TRACING}/instances/{ID}"):
                            os.rmdir(f"{TRACING}/instances/{ID}")
                        continue
                    seconds = OPTIONS.seconds
                    rate = r.events / seconds if r.events is not None else None
                    each = r.size / r.events if r.size and r.events else None
                    got[name].append({**result, "recorder CPU s": r.cpu, "events/s": rate, "bytes/event": each, "lost": r.lost})
                    for f in os.listdir(folder):
                        os.remove(f"{folder}/{f}")
            table(load, got)


def table(load, got):
    keys = list(next(iter(got.values()))[0])
    print(f"\n{load}\n\n| recorder | " + " | ".join(keys) + " |\n|" + "---|" * (len(keys) + 1))
    for name, rounds in got.items():
        cells = []
        for k in keys:
            values = [r[k] for r in rounds if r[k] is not None]
            if not values:
                cells.append("-")
                continue
            text = number(statistics.median(values))
            if name == "nothing" and k == keys[0]:
                text += f" ({number(min(values))} to {number(max(values))})"
            cells.append(text)
        print(f"| {name} | " + " | ".join(cells) + " |")
    sys.stdout.flush()


def number(v):
    return f"{v:,.0f}" if v >= 100 or v == 0 else f"{v:.3g}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--echo"]:
        echo()
    elif sys.argv[1:2] == ["--ask"]:
        ask(float(sys.argv[2]))
    else:
        p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        p.add_argument("--profile", default="rx")
        p.add_argument("--rounds", type=int, default=3)
        p.add_argument("--seconds", type=int, default=3)
        p.add_argument("--recorder", default="target/release/netmortem record")
        OPTIONS = p.parse_args()
        main()
