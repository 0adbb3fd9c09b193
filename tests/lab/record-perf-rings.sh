#!/bin/sh
# record-perf-rings.sh OUT_DIR [RECORDER]
# Records sample-data/perf-rings/ again, with its oracles and its PROVENANCE.md: bundles of the perf backend. Needs root, iproute2,
# zstd, jq, python3. Makes network namespaces named nmrings-<pid>-* and removes them.
set -eu
renice -n -20 $$ > /dev/null
mkdir -p "$1"
rm -f "$1"/*.txt
out=$(realpath "$1")
lab=$(dirname "$(realpath "$0")")
# By its bare name, in a folder of its own: the manifest keeps the command line.
PATH=$(dirname "$(realpath "${2:-$lab/../../target/release/netmortem-record}")"):$PATH
id=nmrings-$$
tmp=$(mktemp -d)
cd "$tmp"
cleanup() {
    for ns in a b; do
        ip netns pids "$id-$ns" 2> /dev/null | xargs -r kill 2> /dev/null || true
        ip netns del "$id-$ns" 2> /dev/null || true
    done
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
ip -n "$id-a" link add shopfront type veth peer name warehouse netns "$id-b"
ip -n "$id-a" addr add 10.87.1.1/24 dev shopfront
ip -n "$id-b" addr add 10.87.1.2/24 dev warehouse
ip -n "$id-a" link set shopfront up
ip -n "$id-b" link set warehouse up

# Two connections, a process at each end of each: N requests of 100 to 2,100 bytes, each read whole and answered with 50 bytes;
# then N / 8 datagrams that nobody wants.
cat > talk.py << 'END'
import os, socket, sys
what, n = sys.argv[1], int(sys.argv[2])
size = lambda i: 100 + i * 37 % 2000
port = 7000
if what == "server":
    listeners = [socket.create_server(("10.87.1.2", p)) for p in (7000, 7001)]
child = os.fork()
if child == 0:
    port = 7001
if what == "server":
    c, _ = listeners[port - 7000].accept()
    for i in range(n):
        left = size(i)
        while left:
            left -= len(c.recv(left))
        c.sendall(b"y" * 50)
    c.recv(1)
else:
    c = socket.create_connection(("10.87.1.2", port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for i in range(n):
        c.sendall(b"x" * size(i))
        left = 50
        while left:
            left -= len(c.recv(left))
    for _ in range(n // 8):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"z" * 100, ("10.87.1.2", 9))
c.close()
if child:
    os.waitpid(child, 0)
END

# What the rings hold, by bytes alone: events by name, the sum of PERF_RECORD_LOST by CPU.
cat > count.py << 'END'
import collections, glob, re, struct, subprocess, sys
folder, name = sys.argv[1:]
names = {}
for path in glob.glob(folder + "/events/*/*/format"):
    text = open(path).read()
    names[int(re.search(r"^ID: (\d+)", text, re.M)[1])] = path.split("/")[-2]
counts, lost = collections.Counter(), collections.Counter()
for path in sorted(glob.glob(folder + "/perf/cpu*/*.records.zst")):
    cpu = int(re.search(r"/cpu(\d+)/", path)[1])
    data, at = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout, 0
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if kind == 9:  # SAMPLE: time, CPU, size, event
            counts[names[struct.unpack_from("<H", data, at + 8 + 8 + 8 + 4)[0]]] += 1
        elif kind == 2:  # LOST: id, how many
            lost[cpu] += struct.unpack_from("<Q", data, at + 16)[0]
        at += size
with open(name + ".counts.txt", "w") as f:
    for event in sorted(counts):
        print(event, counts[event], file=f)
    print("total", sum(counts.values()), file=f)
with open(name + ".lost.txt", "w") as f:
    for cpu in sorted(lost):
        print(cpu, lost[cpu], file=f)
END

# record NAME OPTION...: without the kernel's symbols, which are four fifths of a small bundle and which nothing asks for.
record() {
    name=$1
    shift
    ip netns exec "$id-b" python3 talk.py server 40 &
    sleep 1
    # shellcheck disable=SC2086
    $late netmortem-record --backend perf "$@" -o "$name.nmb" -- \
        $early ip netns exec "$id-a" python3 talk.py client 40 2> "$name.txt"
    wait $!
    rm -rf bundle
    mkdir bundle
    tar -xf "$name.nmb" -C bundle
    python3 count.py bundle "$out/$name"
    jq '.members |= map(select(.name | startswith("symbols") | not))' bundle/end.json > end.json
    mv end.json bundle/end.json
    tar -tf "$name.nmb" | grep -v '^symbols' > members
    tar --owner=0 --group=0 -C bundle -cf - --no-recursion -T members | zstd -q -19 -f -o "$out/$name.nmb.zst"
}
late='' early=''
until grep -q 'none lost' flows.txt 2> /dev/null; do record flows; done
# Rings of 32 KiB, and a reader that comes late.
late='nice -n 39' early='nice -n -39'
until [ -s "$out/lossy.lost.txt" ]; do record lossy -b 32k; done

{
    cat << END
# perf-rings

Two recordings by the perf backend of netmortem-record: one without losses, one with rings of 32 KiB and a reader that came late, which lost events.

| | |
|---|---|
| Kernel | $(uname -srm), $(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), a virtual machine) |
| Tools | $(netmortem-record --version), $(python3 --version) |
| Made by | \`tests/lab/record-perf-rings.sh\`; nice -20 on a machine that compiled meanwhile |

## How

Two network namespaces joined by a veth pair (shopfront 10.87.1.1, warehouse 10.87.1.2). A client process and a server process for each of
two connections, to ports 7000 and 7001: 40 requests of 100 + (n x 37 mod 2000) bytes, each read whole and answered with 50 bytes,
TCP_NODELAY; then 5 datagrams of each client to a port that nobody has.

    netmortem-record --backend perf -o flows.nmb -- ip netns exec a python3 talk.py client 40
    nice -n 39 netmortem-record --backend perf -b 32k -o lossy.nmb -- nice -n -39 ip netns exec a python3 talk.py client 40

The member with the kernel's symbols was left out of the bundles afterwards, and of the list in their end.json.

The recorder said:

$(cat flows.txt lossy.txt | sed 's/^/    /')

## Oracles

Counted in the bytes of the rings by a script of 30 lines that knows nothing of our code:

- \`*.counts.txt\`: events by name;
- \`*.lost.txt\`: CPU and lost events, sums of PERF_RECORD_LOST.

## Files

| File | bytes | sha256 |
|---|---|---|
END
    cd "$out"
    for f in *.txt *.zst; do
        echo "| $f | $(stat -c %s "$f") | \`$(sha256sum "$f" | cut -d' ' -f1)\` |"
    done
} > "$out/PROVENANCE.md"
chmod 644 "$out"/*
ls -l "$out"
