#!/usr/bin/env python3
"""What recording costs, side by side: nothing, netmortem, its peers, and the kernel's own floor, with the same events.

recorder-cost.py [--profile rx] [--rounds 3] [--seconds 2] [--pairs 12] [--recorder 'target/release/netmortem record']
                 [--loads tcp,udp,rpc,http] [--only floor,netmortem,...]

Workloads, between two network namespaces joined by a veth: one TCP stream (iperf3, Gbit/s), small UDP datagrams (iperf3, 64
bytes, as fast as they go, datagrams/s that arrive), request and response of one byte (round trips/s, 50th and 99th percentile),
and pages of 612 bytes of nginx fetched by wrk over 16 connections (requests/s, 50th and 99th percentile).
Recorders take turns within a round, so that a change of the machine hits all; the median of the rounds is printed.
`CPU us/op` is the CPU time of the workload's own processes, both sides, for each operation (a MB, a datagram sent, a round trip,
a request): that is where the cost of the events falls, and other work of the machine counts little in it.

  nothing        no recorder
  floor          the events enabled in a tracing instance, nobody reads: what the kernel takes
  netmortem      as it is by default
  netmortem-perf with --backend perf, where it has that
  flight         netmortem --flight, nothing triggers
  perf           perf record -a, the same events, default buffers
  trace-cmd      trace-cmd record in an instance of its own, the same events, default buffers

At the end `flight` and `floor`, with rings of the same size, take turns with round trips of a second each `--pairs` times: how much more CPU an
operation costs in the flight than in the floor beside it, median and quartiles; and the same of floor beside floor, which is the
noise of that figure.

CPU seconds are those of the recorder and what it starts, from its start to its end, all that it writes included. Bytes for
each event are of the file. Lost are events, as each says itself: of perf the larger of the sums of its LOST records (what each found
missing before it) and of its LOST_SAMPLES records (what the kernel counted for each event). Needs root, iproute2; what of iperf3,
nginx, wrk, perf and trace-cmd is not there is left out.
Prints a Markdown table for each workload. Work for a quiet machine: the noise of `nothing` is printed as its spread.
"""
import argparse
import json
import os
import re
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time

# By its path: the shell of busybox has one of its own.
IP = shutil.which("ip")
TRACING = "/sys/kernel/tracing"
ID = f"nmcost{os.getpid()}"
A, B = f"{ID}-a", f"{ID}-b"


def sh(line, **more):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True, **more).stdout


class Network:
    def __enter__(self):
        for ns in (A, B):
            sh(f"{IP} netns add {ns} && {IP} -n {ns} link set lo up")
        sh(f"{IP} link add v0 netns {A} type veth peer name v1 netns {B}")
        for ns, dev, address in ((A, "v0", "10.95.0.1"), (B, "v1", "10.95.0.2")):
            sh(f"{IP} -n {ns} addr add {address}/24 dev {dev} && {IP} -n {ns} link set {dev} up")
        self.folder = tempfile.TemporaryDirectory(prefix=f"{ID}-www")
        wanted = {}
        if {"tcp", "udp"} & set(LOADS):
            wanted[5201] = ["iperf3", "-s"]
        if "rpc" in LOADS:
            wanted[7001] = [sys.executable, os.path.realpath(__file__), "--echo"]
        if "http" in LOADS:
            wanted[8080] = ["nginx", "-c", self.site()]
        self.servers = [
            subprocess.Popen([IP, "netns", "exec", B, *argv], stdout=subprocess.DEVNULL) for argv in wanted.values()
        ]
        deadline = time.time() + 60
        while time.time() < deadline:
            # Without ss, which not every machine has.
            listening = sh(f"{IP} netns exec {B} cat /proc/net/tcp /proc/net/tcp6")
            if all(re.search(rf":{port:04X} [0-9A-F]+:0000 0A ", listening) for port in wanted):
                SERVERS.extend(s.pid for s in self.servers)
                return self
            time.sleep(0.1)
        self.__exit__()
        raise SystemExit("the servers did not start")

    def __exit__(self, *_):
        for s in self.servers:
            s.kill()
            s.wait()
        for ns in (A, B):
            subprocess.run([IP, "netns", "del", ns])
        self.folder.cleanup()

    def site(self):
        """A configuration of nginx for one page; one process, so that its CPU time is in one place."""
        with open(f"{self.folder.name}/index.html", "w") as f:
            f.write("x" * 611 + "\n")
        os.chmod(self.folder.name, 0o755)
        path = f"{self.folder.name}/nginx.conf"
        with open(path, "w") as f:
            f.write(
                f"daemon off; master_process off; pid {self.folder.name}/pid; error_log /dev/null;\n"
                "events { worker_connections 256; }\n"
                f"http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {self.folder.name}/b;\n"
                f"proxy_temp_path {self.folder.name}/p; fastcgi_temp_path {self.folder.name}/f;\n"
                f"uwsgi_temp_path {self.folder.name}/u; scgi_temp_path {self.folder.name}/s;\n"
                f"server {{ listen 10.95.0.2:8080; root {self.folder.name}; }} }}\n"
            )
        return path


def echo():
    listener = socket.create_server(("10.95.0.2", 7001))
    while True:
        s, _ = listener.accept()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (b := s.recv(1)):
            s.send(b)


def tcp(seconds):
    out = sh(f"{IP} netns exec {A} iperf3 -c 10.95.0.2 -t {seconds} -J")
    end = json.loads(out)["end"]["sum_received"]
    return {"Gbit/s": end["bits_per_second"] / 1e9}, end["bytes"] / 1e6


def udp(seconds):
    out = json.loads(sh(f"{IP} netns exec {A} iperf3 -c 10.95.0.2 -u -b 0 -l 64 -t {seconds} -J"))["end"]["sum"]
    arrived = out["packets"] - out["lost_packets"]
    return {"datagrams/s": arrived / out["seconds"]}, out["packets"]


def rpc(seconds):
    out = json.loads(sh(f"{IP} netns exec {A} {sys.executable} {os.path.realpath(__file__)} --ask {seconds}"))
    client = out.pop("CPU s")
    return out, out["round trips/s"] * seconds, client


def http(seconds):
    out = sh(f"{IP} netns exec {A} wrk -t1 -c16 -d{seconds}s --latency http://10.95.0.2:8080/index.html")
    us = lambda name: {"us": 1, "ms": 1e3, "s": 1e6}
    percentile = lambda p: (lambda m: float(m[1]) * us(m[2])[m[2]])(re.search(rf"^\s*{p}%\s+([\d.]+)(us|ms|s)", out, re.M))
    if "Non-2xx" in out:
        raise SystemExit(f"nginx answers with errors: {out}")
    done = int(re.search(r"(\d+) requests in", out)[1])
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    return {"requests/s": rate, "p50 us": percentile(50), "p99 us": percentile(99)}, done


SERVERS = []  # Process ids of the servers.


def workload_cpu():
    """CPU seconds of the servers and the kernel's threads that deliver packets."""
    total = 0.0
    threads = [p for p in os.listdir("/proc") if p.isdigit() and comm(p).startswith(("ksoftirqd/", "napi/"))]
    for pid in [*SERVERS, *threads]:
        try:
            # The clock of a process: ~pid, type 2 (what the scheduler counted).
            total += time.clock_gettime((~int(pid) << 3) | 2)
        except OSError:
            pass
    return total


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read()
    except OSError:
        return ""


def played(run, seconds):
    """What a workload says, and CPU us for each of its operations."""
    ended = lambda: sum(os.times()[2:4])
    before, clients = workload_cpu(), ended()
    result, operations, *client = run(seconds)
    # What a client says of itself is without its start.
    client = client[0] if client else ended() - clients
    return {**result, "CPU us/op": (workload_cpu() - before + client) * 1e6 / max(operations, 1)}


def ask(seconds):
    s = socket.create_connection(("10.95.0.2", 7001))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    took, cpu, end = [], time.process_time(), time.perf_counter_ns() + int(seconds * 1e9)
    at = time.perf_counter_ns()
    while at < end:
        s.send(b"x")
        s.recv(1)
        now = time.perf_counter_ns()
        took.append(now - at)
        at = now
    cpu = time.process_time() - cpu
    took.sort()
    n = len(took)
    print(json.dumps({"CPU s": cpu, "round trips/s": n / seconds, "p50 us": took[n // 2] / 1e3, "p99 us": took[n * 99 // 100] / 1e3}))


class Refused(Exception):
    """A recorder that does not run here, and what it says."""


class Recorder:
    """Starts on entering, has ended on leaving; what it says of itself is then in the fields."""

    events = lost = size = None
    cpu = 0.0
    argv = None
    pass_fds = ()
    stop = signal.SIGINT

    def __init__(self, events, folder):
        self.wanted, self.file = events, f"{folder}/out"

    def __enter__(self):
        if self.argv:
            self.said = tempfile.TemporaryFile("w+")
            self.child = subprocess.Popen(self.argv, stdout=self.said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, pass_fds=self.pass_fds)
            deadline = time.time() + 60
            while not self.started() and self.child.poll() is None and time.time() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
            if self.child.poll() is not None or not self.started():
                self.child.kill()
                self.child.wait()
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
        self.path = f"{TRACING}/instances/{ID}-floor"
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
        return tracing_on(f"netmortem-{self.child.pid}-") and os.path.exists(self.file) and os.path.getsize(self.file) > 100_000

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
        return tracing_on(f"netmortem-{self.child.pid}-")

    def read(self, said):
        pass


class SmallFlight(Flight):
    """With rings as large as those of the floor."""

    more = (*Flight.more, "-b", "8M")


class Perf(Recorder):
    def __init__(self, events, folder):
        super().__init__(events, folder)
        # Its file is there long before its events are on: it is told when to begin, and says when it has.
        (theirs, self.tell), (self.told, back) = os.pipe(), os.pipe()
        self.pass_fds = (theirs, back)
        self.argv = ["perf", "record", "-a", "-o", self.file, "-D", "-1", "--control", f"fd:{theirs},{back}", "-e", ",".join(events)]

    def __enter__(self):
        os.write(self.tell, b"enable\n")
        super().__enter__()
        return self

    def started(self):
        return bool(select.select([self.told], [], [], 0)[0])

    def __exit__(self, *_):
        super().__exit__()
        for fd in (self.tell, self.told, *self.pass_fds):
            os.close(fd)

    def read(self, said):
        with open(self.file, "rb") as f:
            data = f.read()
        # struct perf_file_header: magic, size, attr_size, then offset and size of attrs and of data.
        at, size = struct.unpack_from("<QQ", data, 40)
        end, self.events, lost, samples = at + size, 0, 0, 0
        while at + 8 <= end:
            # struct perf_event_header; PERF_RECORD_LOST is {header, id, lost}, PERF_RECORD_LOST_SAMPLES {header, lost}.
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if kind == 9:
                self.events += 1
            elif kind == 2:
                lost += struct.unpack_from("<Q", data, at + 16)[0]
            elif kind == 13:
                samples += struct.unpack_from("<Q", data, at + 8)[0]
            at += max(length, 8)
        self.lost, self.size = max(lost, samples), len(data)


class TraceCmd(Recorder):
    def __init__(self, events, folder):
        super().__init__(events, folder)
        each = [w for e in events for w in ("-e", e)]
        self.argv = ["trace-cmd", "record", "-B", ID, "-b", "8192", "-C", "mono", *each, "-o", self.file]

    def started(self):
        return tracing_on(ID)

    def read(self, said):
        self.size = os.path.getsize(self.file)
        # Of each CPU, before its events: what was read, and what was still to be.
        said = sh(f"trace-cmd report --stat -i {self.file} 2>/dev/null | head -n {60 + 20 * os.cpu_count()}")
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
        recorders["netmortem-perf"] = NetmortemPerf
        for name, kind in (("perf", Perf), ("trace-cmd", TraceCmd)):
            if shutil.which(name):
                recorders[name] = kind
        recorders = {n: k for n, k in recorders.items() if OPTIONS.only is None or n in OPTIONS.only.split(",")}
        print(f"Linux {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f} before; profile {OPTIONS.profile}: "
              f"{len(events)} kinds of events for all, {len(filtered)} more with a filter for netmortem only; "
              f"{OPTIONS.rounds} rounds of {OPTIONS.seconds} s")
        for load in LOADS:
            run = RUN[load]
            got = {name: [] for name in recorders}
            for _ in range(OPTIONS.rounds):
                for name, kind in list(recorders.items()):
                    try:
                        with kind(events, folder) as r:
                            result = played(run, OPTIONS.seconds)
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
        if OPTIONS.pairs > 0:
            turns(events, folder)


def turns(events, folder):
    """CPU for each round trip in the flight over that in the floor beside it, and floor over floor."""
    load = "rpc" if "rpc" in LOADS else LOADS[0]

    def one(kind):
        with kind(events, folder):
            return played(RUN[load], 1)["CPU us/op"]

    both = {"flight over floor": (Floor, SmallFlight), "floor over floor": (Floor, Floor)}
    more = {name: [] for name in both}
    us = []
    for n in range(OPTIONS.pairs):
        for name, (under, over) in both.items():
            # The one that comes first changes, too: what the first leaves behind would favour one of them.
            order = [under, over] if n % 2 == 0 else [over, under]
            a, b = (one(kind) for kind in order)
            a, b = (a, b) if n % 2 == 0 else (b, a)
            us.append(a)
            more[name].append(100 * (b / a - 1))
    print(f"\nCPU us for each operation of {load}, {OPTIONS.pairs} pairs by turns; the floor's median is {number(statistics.median(us))} us\n")
    print("| | median | quartiles | least | most |\n|---|---|---|---|---|")
    for name, values in more.items():
        q = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
        print(f"| {name} | {q[1]:+.2f} % | {q[0]:+.2f} to {q[2]:+.2f} % | {min(values):+.2f} % | {max(values):+.2f} % |")


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
        p.add_argument("--seconds", type=int, default=2)
        p.add_argument("--pairs", type=int, default=12)
        p.add_argument("--loads", default="tcp,udp,rpc,http")
        p.add_argument("--only", help="recorders, by name")
        p.add_argument("--recorder", default="target/release/netmortem record")
        OPTIONS = p.parse_args()
        RUN = {"tcp": tcp, "udp": udp, "rpc": rpc, "http": http}
        NEEDS = {"tcp": ["iperf3"], "udp": ["iperf3"], "rpc": [], "http": ["nginx", "wrk"]}
        LOADS = [n for n in OPTIONS.loads.split(",") if all(shutil.which(tool) for tool in NEEDS[n])]
        main()
