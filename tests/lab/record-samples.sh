#!/bin/sh
# record-samples.sh sawtooth|rpc|neighbour|mtu|cpu|opens|named|datagrams|lookups|seconds|changes|overlay|gro OUT_DIR [RECORDER]
# Records a sample of sample-data/ again, with its oracles and its PROVENANCE.md. Needs root, iproute2, iperf3, tcpdump,
# tcptrace, trace-cmd, zstd, python3, nft (mtu, opens, named, datagrams). Makes network namespaces named nmlab-<pid>-* and removes them.
set -eu
# The machine may be shared: without this a planted 5 ms sleep can take 30.
renice -n -20 $$ > /dev/null
what=$1
mkdir -p "$2"
out=$(realpath "$2")
lab=$(dirname "$(realpath "$0")")
# By its bare name, in a folder of its own: the manifest keeps the command line.
PATH=$(dirname "$(realpath "${3:-$lab/../../target/release/netmortem-record}")"):$PATH
id=nmlab-$$
tmp=$(mktemp -d)
chmod 755 "$tmp"
cp "$lab/rpc.py" "$lab/neighbour.py" "$lab/mtu.py" "$lab/opens.py" "$lab/named.py" "$lab/datagrams.py" "$lab/lookups.py" "$lab/seconds.py" "$lab/changes.py" "$lab/messages.py" "$tmp"
cd "$tmp"

cleanup() {
    for ns in a na r nb b; do
        ip netns pids "$id-$ns" 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns del "$id-$ns" 2>/dev/null || true
    done
    rm -rf "$tmp"
}
trap cleanup EXIT INT TERM

# without_symbols NAME: NAME.nmb, zstd, without the kernel's symbols: four fifths of a small one, and nothing asks for them.
without_symbols() {
    rm -rf bundle
    mkdir bundle
    tar -xf "$1.nmb" -C bundle
    jq '.members |= map(select(.name | startswith("symbols") | not))' bundle/end.json > end.json
    mv end.json bundle/end.json
    tar -tf "$1.nmb" | grep -v '^symbols' > members
    tar --owner=0 --group=0 -C bundle -cf - --no-recursion -T members | zstd -q -19 -f -o "$out/$1.nmb.zst"
}
in_ns() { ns=$1; shift; ip netns exec "$id-$ns" "$@"; }

# link NS1 DEV1 ADDRESS1 NS2 DEV2 ADDRESS2
link() {
    ip -n "$id-$1" link add "$2" type veth peer name "$5" netns "$id-$4"
    ip -n "$id-$1" addr add "$3" dev "$2"
    ip -n "$id-$4" addr add "$6" dev "$5"
    ip -n "$id-$1" link set "$2" up
    ip -n "$id-$4" link set "$5" up
}

host_rows() {
    cat <<END
| Kernel | $(uname -srm), $(nproc) CPUs ($(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), a virtual machine) |
| Tools | $(netmortem-record --version), trace-cmd $(trace-cmd 2>&1 | sed -n 's/^trace-cmd version \([^ ]*\).*/\1/p'), $(iperf3 --version | head -1 | cut -d' ' -f1,2) |
END
}

# Event counts as trace-cmd reads them from the very same sub-buffers.
counts() {
    "$lab/bundle-to-tracedat.sh" "$1" "$tmp/oracle.dat"
    trace-cmd report -t -R "$tmp/oracle.dat" 2> "$tmp/report.err" | grep -v '^cpus=' |
        sed -n 's/^.*\[[0-9]*\] *[0-9]*\.[0-9]*: \([a-z0-9_]*\): .*$/\1/p' | LC_ALL=C sort | uniq -c |
        awk '{print $2, $1; n += $1} END {print "total", n}' > "$out/counts.txt"
}

sums() {
    echo
    echo '## Files'
    echo
    echo '| File | bytes | sha256 |'
    echo '|---|---|---|'
    for f in "$@"; do
        echo "| $f | $(stat -c %s "$out/$f") | \`$(sha256sum "$out/$f" | cut -d' ' -f1)\` |"
    done
}

sawtooth() {
    rate=${RATE:-20mbit} seconds=${SECONDS_RECORDED:-4}
    for ns in a r b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.77.1.1/24 r ra 10.77.1.2/24
    link r rb 10.77.2.2/24 b vb 10.77.2.1/24
    in_ns r sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-a" route add default via 10.77.1.2
    ip -n "$id-b" route add default via 10.77.2.2
    in_ns r tc qdisc add dev rb root tbf rate "$rate" burst 16kbit limit 60000
    in_ns b iperf3 -s -1 -p 5201 > "$tmp/server.txt" 2>&1 &
    in_ns a tcpdump -q -s 96 -i va -w "$tmp/a.pcap" tcp 2> "$tmp/tcpdump.txt" &
    sleep 1
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat -n
    netmortem-record -o sawtooth.nmb -- \
        ip netns exec "$id-a" iperf3 -c 10.77.2.1 -p 5201 -C cubic -t "$seconds" > "$tmp/client.txt" 2> "$tmp/recorder.txt"
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat > "$tmp/nstat.txt"
    cp sawtooth.nmb "$out/"
    in_ns r tc -s qdisc show dev rb > "$tmp/qdisc.txt"
    sleep 1
    ip netns pids "$id-a" | xargs -r kill -INT
    sleep 0.5
    counts "$out/sawtooth.nmb"
    tcptrace -l -n "$tmp/a.pcap" 2>/dev/null | sed "s#$tmp/##; /^Elapsed wallclock/d" > "$out/tcptrace.txt"
    zstd -q -19 -f "$tmp/a.pcap" -o "$out/sender.pcap.zst"
    {
        cat <<END
# sawtooth

A real recording of TCP cubic through a router with a token bucket: queue fills, tail drop, retransmit, cwnd to 0.7, again.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh sawtooth\` with RATE=$rate SECONDS_RECORDED=$seconds; nice -20 on a machine that compiled meanwhile |

## How

Three network namespaces, a - r - b, joined by two veth pairs; r forwards. On r, towards b:
\`tc qdisc add dev rb root tbf rate $rate burst 16kbit limit 60000\`. In b \`iperf3 -s -1\`; then

    netmortem-record -o sawtooth.nmb -- ip netns exec a iperf3 -c 10.77.2.1 -p 5201 -C cubic -t $seconds

and at the same time, in a, \`tcpdump -s 96 -i va tcp\` (kept as \`sender.pcap.zst\`; the capture began before and ended after
the recording, so it has the whole connections; its packet tap shows in the recording as \`consume_skb\` of clones).
All three namespaces share one kernel, so the recording has the sender's, the router's and the receiver's side.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

iperf3 said:

$(grep -E 'sender|receiver|Retr' "$tmp/client.txt" | sed 's/^/    /')

## Oracles

- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers
  (\`tests/lab/bundle-to-tracedat.sh\` puts them into a trace.dat without our code);
- \`tcptrace.txt\`: \`tcptrace -l -n\` of the capture on the sender's interface (host a:b is iperf3's control connection,
  the one with the data is the second);
- \`nstat\` of the sender's namespace, difference over the recording:

$(grep -E '^(Tcp|TcpExt|Ip)' "$tmp/nstat.txt" | sed 's/^/      /; s/ *0\.0$//')

- the router's queue afterwards:

$(sed 's/^/      /' "$tmp/qdisc.txt")
END
        sums sawtooth.nmb counts.txt tcptrace.txt sender.pcap.zst
    } > "$out/PROVENANCE.md"
}

rpc() {
    requests=${REQUESTS:-400} sleeps=${SLEEPS:-40} seed=${SEED:-20261121}
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.78.1.1/24 b vb 10.78.1.2/24
    python3 "$lab/rpc.py" plan "$seed" "$requests" "$sleeps" > "$tmp/plan.csv"
    in_ns b python3 "$lab/rpc.py" server 10.78.1.2 7000 "$tmp/plan.csv" "$out/truth.csv" &
    sleep 1
    netmortem-record -o rpc.nmb -- \
        ip netns exec "$id-a" python3 rpc.py client 10.78.1.2 7000 "$requests" 2> "$tmp/recorder.txt"
    wait $!
    cp rpc.nmb "$out/"
    counts "$out/rpc.nmb"
    {
        cat <<END
# rpc

A real recording of request/response over TCP in which the server is sometimes late to read, and says when.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh rpc\` with REQUESTS=$requests SLEEPS=$sleeps SEED=$seed; nice -20 on a machine that compiled meanwhile |

## How

Two network namespaces, a - b, joined by a veth pair; \`tests/lab/rpc.py server\` in b (10.78.1.2:7000), then

    netmortem-record -o rpc.nmb -- ip netns exec a python3 rpc.py client 10.78.1.2 7000 $requests

The client sends request n ($requests of them, 200 + (n x 37 mod 1000) bytes) as soon as it has the answer to the one before
(300 + (n x 53 mod 4000) bytes). The server waits in \`poll\` until a request is in its receive queue; before $sleeps of them it
then sleeps 5 to 30 ms, and only then calls \`recv\`. One connection, TCP_NODELAY on both sides.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: one row per planted sleep, by the server itself: number of the request (from 0), planned sleep, CLOCK_MONOTONIC
  (the recording's clock) before and after the sleep and after the read, bytes of the request. The request was in the receive
  queue from before \`sleep_start_ns\` until between \`sleep_end_ns\` and \`read_end_ns\`;
- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers
  (\`tests/lab/bundle-to-tracedat.sh\` puts them into a trace.dat without our code).
END
        sums rpc.nmb counts.txt truth.csv
    } > "$out/PROVENANCE.md"
}

otherhost() { in_ns b python3 "$lab/neighbour.py" otherhost vb; }

neighbour() {
    requests=${REQUESTS:-60} sleeps=${SLEEPS:-40} seed=${SEED:-20261122} wrong=02:00:00:00:00:99
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.79.1.1/24 b vb 10.79.1.2/24
    python3 "$lab/rpc.py" plan "$seed" "$requests" "$sleeps" > "$tmp/plan.csv"
    in_ns b python3 "$lab/rpc.py" server 10.79.1.2 7000 "$tmp/plan.csv" "$tmp/served.csv" &
    server=$!
    ip -n "$id-a" -ts monitor neigh > "$out/monitor.txt" &
    monitor=$!
    sleep 1
    before=$(otherhost)
    cat > "$tmp/both.sh" <<END
ip netns exec $id-a python3 rpc.py client 10.79.1.2 7000 $requests &
python3 neighbour.py wrong 0.3 $id-a va 10.79.1.2 $wrong 0.4 truth.csv
wait
END
    netmortem-record -o neighbour.nmb -- sh both.sh 2> "$tmp/recorder.txt"
    wait $server
    after=$(otherhost)
    kill $monitor
    cp neighbour.nmb truth.csv "$out/"
    counts "$out/neighbour.nmb"
    {
        cat <<END
# neighbour

A real recording of request/response over TCP while the client's neighbour entry of the server was wrong for 0.4 s.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh neighbour\` with REQUESTS=$requests SLEEPS=$sleeps SEED=$seed; nice -20 on a machine that compiled meanwhile |

## How

As \`rpc\`, with the addresses 10.79.1.1 (va in a, the client's) and 10.79.1.2 (vb in b, the server's), and beside the client

    python3 neighbour.py wrong 0.3 a va 10.79.1.2 $wrong 0.4 truth.csv

which after 0.3 s runs \`ip neigh replace 10.79.1.2 lladdr $wrong nud permanent dev va\` in a, and 0.4 s later deletes the
entry. No device has that address, so what a sends meanwhile comes to vb and is freed there as OTHERHOST.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: CLOCK_MONOTONIC (the recording's clock) before and after each of the two commands;
- \`monitor.txt\`: what \`ip -ts monitor neigh\` in a said of the entry;
- the kernel's counter of frames that vb dropped because they were for another host (\`neighbour.py otherhost\`), before and after:

      otherhost_dropped   $before $after

- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.
END
        sums neighbour.nmb counts.txt monitor.txt truth.csv
    } > "$out/PROVENANCE.md"
}

mtu() {
    for ns in a r b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.80.1.1/24 r ra 10.80.1.2/24
    link r rb 10.80.2.2/24 b vb 10.80.2.1/24
    ip -n "$id-r" link set rb mtu 1200
    in_ns r sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-a" route add default via 10.80.1.2
    ip -n "$id-b" route add default via 10.80.2.2
    in_ns b python3 "$lab/mtu.py" sink 10.80.2.1 7000 &
    sink=$!
    sleep 1
    NSTAT_HISTORY="$tmp/nstat" in_ns r nstat -n
    netmortem-record -o mtu.nmb -- python3 mtu.py plan "$id-a" "$id-r" 10.80.2.1 7000 truth.csv 2> "$tmp/recorder.txt"
    NSTAT_HISTORY="$tmp/nstat" in_ns r nstat > "$tmp/nstat.txt"
    in_ns r nft list ruleset > "$tmp/rules.txt"
    kill $sink
    cp mtu.nmb truth.csv "$out/"
    counts "$out/mtu.nmb"
    {
        cat <<END
# mtu

A real recording of two TCP uploads through a router whose next link has a smaller MTU: path MTU discovery repairs the first, the
second meets a black hole.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh mtu\`; nice -20 on a machine that compiled meanwhile |

## How

Three network namespaces, a - r - b, joined by two veth pairs; r forwards, and its device towards b (rb) has an MTU of 1200.

    netmortem-record -o mtu.nmb -- python3 mtu.py plan a r 10.80.2.1 7000 truth.csv

uploads 200 kB from a to b; then, in r, has a netfilter rule drop what ICMP r itself sends, makes a forget path MTUs, and uploads as
much again, for 1.2 s at most.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: CLOCK_MONOTONIC (the recording's clock) before and after each upload, and whether all of it arrived;
- \`nstat\` of r, difference over the recording (IpFragFails: packets that were too big and must not be cut):

$(grep -E '^(Ip|Icmp)' "$tmp/nstat.txt" | sed 's/^/      /; s/ *0\.0$//')

- the rule's own counter afterwards:

$(grep counter "$tmp/rules.txt" | sed 's/^[ \t]*/      /')

- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.
END
        sums mtu.nmb counts.txt truth.csv
    } > "$out/PROVENANCE.md"
}

named() {
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    python3 named.py delay 0.010 "$id-a,ta,10.82.1.1/24" "$id-b,tb,10.82.1.2/24" &
    relay=$!
    until ip -n "$id-b" addr show tb 2> /dev/null | grep -q inet; do sleep 0.2; done
    in_ns a sysctl -q net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_no_metrics_save=1
    in_ns b sysctl -q net.ipv4.tcp_no_metrics_save=1
    in_ns a nft -f - <<END
table inet lab {
    chain f {
        type filter hook input priority 0;
        tcp sport 7003 tcp flags & syn == syn counter tcp option maxseg size set 200
    }
}
END
    in_ns b python3 named.py sink 10.82.1.2 7001 7002 7003 &
    sink=$!
    sleep 1.5
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat -n
    netmortem-record --profile tx -o named.nmb -- \
        python3 named.py plan "$id-a" "$id-b" 10.82.1.2 truth.csv ss.txt 2> "$tmp/recorder.txt"
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat > "$tmp/nstat.txt"
    in_ns a nft list ruleset > "$tmp/rules.txt"
    kill $sink $relay
    without_symbols named
    cp truth.csv ss.txt "$out/"
    {
        cat <<END
# named

A real recording of three things that have a name: a connection without window scaling, slow start after idle, a clamped MSS.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh named\`; nice -20 on a machine that compiled meanwhile |

## How

Two network namespaces, a and b, joined by two TUN devices between which a program holds each packet for 10 ms.

    netmortem-record --profile tx -o named.nmb -- python3 named.py plan a b 10.82.1.2 truth.csv ss.txt

opens a connection to port 7001 while net.ipv4.tcp_window_scaling is 0 in b, and uploads over it; uploads three times to 7002 with a
pause of 0.45 s before each (net.ipv4.tcp_slow_start_after_idle is 1 in a); and uploads to 7003, whose SYN-ACK a rule of nftables
gives an MSS of 200. Congestion control is cubic. The member with the kernel's symbols was left out of the bundle afterwards, and of the list in its end.json.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`ss.txt\`: \`ss -tinO\` of each connection after its last upload, before it was closed;
- \`truth.csv\`: CLOCK_MONOTONIC (the recording's clock) before and after each upload, and its bytes;
- \`nstat\` of a, difference over the recording:

$(grep '^Tcp' "$tmp/nstat.txt" | sed 's/^/      /; s/ *0\.0$//')

- the rule's own counter afterwards:

$(grep counter "$tmp/rules.txt" | sed 's/^[ \t]*/      /')
END
        sums named.nmb.zst ss.txt truth.csv
    } > "$out/PROVENANCE.md"
}

datagrams() {
    for ns in a r b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.83.1.1/24 r ra 10.83.1.2/24
    link r rb 10.83.2.2/24 b vb 10.83.2.1/24
    ip -n "$id-b" addr add 10.83.2.3/24 dev vb
    in_ns r sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-a" route add default via 10.83.1.2
    ip -n "$id-b" route add default via 10.83.2.2
    in_ns r nft -f - <<END
table ip lab {
    chain f {
        type filter hook prerouting priority 0;
        iifname "ra" udp dport 7004 numgen inc mod 10 4 counter dup to 10.83.2.1 device "rb"
    }
}
END
    in_ns b python3 datagrams.py hold 10.83.2.3 53 &
    in_ns b python3 datagrams.py answer 10.83.2.1 53 &
    in_ns b python3 datagrams.py sink 10.83.2.1 514 "$tmp/log.csv" &
    in_ns b python3 datagrams.py sink 10.83.2.1 7004 "$tmp/came.csv" &
    sleep 1.5
    # Neighbours known: the first question waits for none.
    in_ns a python3 datagrams.py knock 10.83.2.1 10.83.2.3
    for ns in a b; do NSTAT_HISTORY="$tmp/nstat-$ns" in_ns $ns nstat -n; done
    netmortem-record -o datagrams.nmb -- python3 datagrams.py plan "$id-a" \
        10.83.2.3:53 10.83.2.1:53 10.83.2.1:7004 10.83.2.1:514 truth.csv 2> "$tmp/recorder.txt"
    for ns in a b; do NSTAT_HISTORY="$tmp/nstat-$ns" in_ns $ns nstat > "$tmp/nstat-$ns.txt"; done
    in_ns b ss -uln > "$tmp/ss.txt"
    in_ns r nft list ruleset > "$tmp/rules.txt"
    ip netns pids "$id-b" | xargs kill
    until [ -s came.csv ]; do sleep 0.2; done
    without_symbols datagrams
    cp truth.csv came.csv "$out/"
    {
        cat <<END
# datagrams

A real recording of UDP: a server that does not read, datagrams that a router duplicates, and a sender that waits for no answer.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh datagrams\`; nice -20 on a machine that compiled meanwhile |

## How

Three network namespaces, a - r - b, joined by two veth pairs; r forwards. In b one program holds 10.83.2.3:53
and never reads, one answers at 10.83.2.1:53, one reads at port 7004 and one at port 514.

    netmortem-record -o datagrams.nmb -- python3 datagrams.py plan a 10.83.2.3:53 10.83.2.1:53 10.83.2.1:7004 10.83.2.1:514 truth.csv

asks three times, each time 10.83.2.3:53 first, for 0.4 s, then 10.83.2.1:53, with a socket of its own for each (connect, send, one
poll, close); sends 40 numbered datagrams to port 7004, every tenth of which a rule of nftables in r duplicates; and sends six to port
514, after each of which it polls a pipe for 0.15 s. The member with the kernel's symbols was left out of the bundle afterwards, and of the list in its end.json.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: of each question CLOCK_MONOTONIC (the recording's clock) before and after, and whether it was answered;
- \`came.csv\`: how often each number came to port 7004, by its reader;
- \`ss -uln\` in b afterwards:

$(sed 's/^/      /; s/ *$//' "$tmp/ss.txt")

- \`nstat\` of a, then of b, difference over the recording:

$(grep -h '^Udp' "$tmp/nstat-a.txt" "$tmp/nstat-b.txt" | sed 's/^/      /; s/ *0\.0$//')

- the rule's own counter afterwards:

$(grep counter "$tmp/rules.txt" | sed 's/^[ \t]*/      /')
END
        sums datagrams.nmb.zst came.csv truth.csv
    } > "$out/PROVENANCE.md"
}

lookups() {
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.84.1.1/24 b vb 10.84.1.2/24
    in_ns b python3 lookups.py name 10.84.1.2 53 0.012 &
    in_ns b python3 lookups.py web 10.84.1.2 8080 &
    in_ns b python3 lookups.py front 10.84.1.2 8081 10.84.1.2:53 &
    sleep 1.5
    # Neighbours known.
    in_ns a python3 datagrams.py knock 10.84.1.2
    for ns in a b; do NSTAT_HISTORY="$tmp/nstat-$ns" in_ns $ns nstat -n; done
    netmortem-record -o lookups.nmb -- python3 lookups.py plan "$id-a" \
        10.84.1.2:53 10.84.1.2:8080 10.84.1.2:8081 truth.csv 2> "$tmp/recorder.txt"
    for ns in a b; do NSTAT_HISTORY="$tmp/nstat-$ns" in_ns $ns nstat > "$tmp/nstat-$ns.txt"; done
    without_symbols lookups
    cp truth.csv "$out/"
    {
        cat <<END
# lookups

A real recording of calls that wait for a name server: several lookups one after the other before each, and a server that looks a name up
before each answer.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh lookups\`; nice -20 on a machine that compiled meanwhile |

## How

Two network namespaces joined by a veth pair. In b one program answers at 10.84.1.2:53 after a sleep of 12 ms, one serves
10.84.1.2:8080 at once, one serves 10.84.1.2:8081 and asks 10.84.1.2:53 before each answer.

    netmortem-record -o lookups.nmb -- python3 lookups.py plan a 10.84.1.2:53 10.84.1.2:8080 10.84.1.2:8081 truth.csv

makes eight calls, each of five rounds of two questions (a socket of its own for each round: connect, two sends, polls, two reads, close)
and then one request to port 8080 on a new connection; then 20 requests to port 8081 on one. The member with the kernel's symbols was
left out of the bundle afterwards, and of the list in its end.json.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: of each round and each request CLOCK_MONOTONIC (the recording's clock) before and after, in its program;
- \`nstat\` of a, then of b, difference over the recording:

$(grep -h '^Udp' "$tmp/nstat-a.txt" "$tmp/nstat-b.txt" | sed 's/^/      /; s/ *0\.0$//')
END
        sums lookups.nmb.zst truth.csv
    } > "$out/PROVENANCE.md"
}

changes() {
    ip netns add "$id-a"
    ip netns add "$id-r"
    ip netns add "$id-b"
    link a a0 10.86.1.2/24 r ra 10.86.1.1/24
    link r rb 10.86.2.1/24 b b0 10.86.2.2/24
    in_ns r sysctl -qw net.ipv4.ip_forward=1
    in_ns a sysctl -qw net.ipv4.conf.a0.rp_filter=0
    ip -n "$id-a" route add default via 10.86.1.1
    ip -n "$id-b" route add default via 10.86.2.1
    in_ns b python3 changes.py answer 10.86.2.2 7000 &
    sleep 0.5
    in_ns a python3 changes.py ask 10.86.2.2 7000 &
    sleep 0.5
    netmortem-record --profile full -o changes.nmb -- python3 changes.py play "$id-a" "$id-r" "$id-b" planted.csv 2> "$tmp/recorder.txt"
    without_symbols changes
    cp planted.csv "$out/planted.csv"
    {
        cat <<END
# changes

A real recording of a host whose network is changed while it is asked: queues, rules, routes, addresses, settings, each at a known time and by a known program.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh changes\`; nice -20 |

## How

Three network namespaces, a and b joined by r, which forwards. In b a program answers at 10.86.2.2:7000, in a another asks 10 ms after each answer, 200 bytes for 600:

    netmortem-record --profile full -o changes.nmb -- python3 changes.py play a r b planted.csv

makes the changes of \`tests/lab/changes.py\`: a tbf on r's way to b for a second; a rule in b that drops each eighth segment of the answers for a second; a route's
MTU, a route, a rule, an address and settings of a; the MTU of a device of r, where a pair of devices comes and goes.
The member with the kernel's symbols was left out of the bundle afterwards, and of the list in its end.json.

The recorder said:

$(sed 's/^/    /' recorder.txt)

## Oracle

- \`planted.csv\`: of each change CLOCK_MONOTONIC (the recording's clock) before and after the command that made it, where, by which program (none: the kernel does not
  say it of links and settings), and how the analyzer is to put it.
END
        sums changes.nmb.zst planted.csv
    } > "$out/PROVENANCE.md"
}

seconds() {
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.85.1.1/24 b vb 10.85.1.2/24
    in_ns b python3 seconds.py sink 10.85.1.2 7000 &
    sleep 1
    # The recorder itself is in a: readings of every second are of its own namespace. Not by \`ip netns exec\`, whose /sys has no tracefs.
    nsenter --net="/run/netns/$id-a" netmortem-record --profile lean -o seconds.nmb -- \
        python3 seconds.py play 10.85.1.2 7000 "$id-b" 10.85.1.1 counters.csv 2> "$tmp/recorder.txt"
    without_symbols seconds
    cp counters.csv "$out/"
    {
        cat <<END
# seconds

A real recording whose kernel counts trouble of two kinds, each in a part of the time: segments that are lost and sent again, and datagrams
that a full socket refuses.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh seconds\`; nice -20 on a machine that compiled meanwhile |

## How

Two network namespaces joined by a veth pair. In b a program reads what comes to 10.85.1.2:7000. The recorder is started in a, so that what it
reads every second is of a:

    nsenter --net=/run/netns/a netmortem-record --profile lean -o seconds.nmb -- python3 seconds.py play 10.85.1.2 7000 b 10.85.1.1 counters.csv

sends 6000 bytes every 20 ms for 8.5 s. From 2.4 s to 4.4 s a rule in b drops each twelfth segment
(\`tcp dport 7000 numgen inc mod 12 == 7 drop\`, prerouting); later (counters.csv says when) 300 datagrams go to a socket
of 4 KiB that nobody reads. The member with the kernel's symbols was left out of the bundle afterwards, and of the list in its end.json.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracle

- \`counters.csv\`: four counters of /proc/net/snmp in a, read by the playing program ten times a second, and CLOCK_MONOTONIC (the
  recording's clock) before and after each reading.
END
        sums seconds.nmb.zst counters.csv
    } > "$out/PROVENANCE.md"
}

cpu() {
    requests=${REQUESTS:-120}
    for ns in a b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.81.1.1/24 b vb 10.81.1.2/24
    python3 "$lab/rpc.py" plan 1 "$requests" 0 > "$tmp/plan.csv"
    cp "$(readlink -f "$(command -v sh)")" "$tmp/hog"
    cp "$tmp/hog" "$tmp/beside"
    in_ns b nice -n 8 taskset -c 0 python3 "$lab/rpc.py" server 10.81.1.2 7000 "$tmp/plan.csv" "$tmp/served.csv" &
    server=$!
    sleep 1
    taskset -c 0 ./hog -c 'while :; do :; done' &
    hog=$!
    taskset -c 1 ./beside -c 'while :; do :; done' &
    beside=$!
    netmortem-record -o cpu.nmb -- ip netns exec "$id-a" nice -n 8 taskset -c 1 python3 rpc.py client 10.81.1.2 7000 "$requests" 2> "$tmp/recorder.txt"
    kill $hog $beside
    wait $server
    cp cpu.nmb "$out/"
    printf 'end,port,cpu,behind\nserver,7000,0,hog\nclient,0,1,beside\n' > "$out/truth.csv"
    counts "$out/cpu.nmb"
    {
        cat <<END
# cpu

A real recording of request/response over TCP in which server and client, on one host, each wait for a CPU of their own.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh cpu\` with REQUESTS=$requests; nice -20 on a machine that compiled meanwhile |

## How

As \`rpc\`, without sleeps, with the server pinned to CPU 0 (10.81.1.2:7000) and the client to CPU 1. Two shells that do nothing but
loop run beside them, one as \`hog\` on CPU 0, one as \`beside\` on CPU 1, both with nice -20 against -12.

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: who is pinned to which CPU, and what else is (port 0: any);
- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.
END
        sums cpu.nmb counts.txt truth.csv
    } > "$out/PROVENANCE.md"
}

opens() {
    for ns in a r b; do ip netns add "$id-$ns"; ip -n "$id-$ns" link set lo up; done
    link a va 10.80.1.1/24 r ra 10.80.1.2/24
    link r rb 10.80.2.2/24 b vb 10.80.2.1/24
    in_ns r sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-a" route add 10.80.2.0/24 via 10.80.1.2
    ip -n "$id-b" route add 10.80.1.0/24 via 10.80.2.2
    cat > "$tmp/rules.nft" <<'END'
table ip t {
    counter again { }
    counter never { }
    counter cut { }
    chain f {
        type filter hook forward priority 0
        tcp dport 7002 tcp flags syn numgen inc mod 2 == 0 counter name "again" drop
        tcp dport 7003 tcp flags syn counter name "never" drop
        tcp dport 7004 meta length > 300 counter name "cut" reject with tcp reset
    }
}
END
    in_ns r nft -f "$tmp/rules.nft"
    # As many as are kept open at the end: the attempts after them find none.
    in_ns a sysctl -q net.ipv4.ip_local_port_range="42000 42011"
    in_ns b python3 "$lab/opens.py" server 10.80.2.1 7000 7002 7003 7004 7005 &
    server=$!
    sleep 1
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat -n
    netmortem-record -o opens.nmb -- ip netns exec "$id-a" python3 opens.py client 10.80.2.1 truth.csv 2> "$tmp/recorder.txt"
    NSTAT_HISTORY="$tmp/nstat" in_ns a nstat > "$tmp/nstat.txt"
    in_ns r nft list counters > "$tmp/counters.txt"
    kill $server
    cp opens.nmb truth.csv "$out/"
    counts "$out/opens.nmb"
    {
        cat <<END
# opens

A real recording of TCP connections that stand, are refused, wait for a second SYN, get no answer, find no route or no local port,
and of one that a router resets.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh opens\`; nice -20 on a machine that compiled meanwhile |

## How

Three network namespaces, a - r - b, joined by two veth pairs; r forwards, with these rules:

$(sed 's/^/    /' "$tmp/rules.nft")

In a: twelve local ports (\`ip_local_port_range\` 42000 to 42011) and no default route; in b \`opens.py server 10.80.2.1 7000 7002 7003 7004 7005\`; then

    netmortem-record -o opens.nmb -- ip netns exec a python3 opens.py client 10.80.2.1 truth.csv

The recorder said:

$(sed 's/^/    /' "$tmp/recorder.txt")

## Oracles

- \`truth.csv\`: of each attempt CLOCK_MONOTONIC (the recording's clock) before and after connect, and the error that it gave;
- nftables' counters of r afterwards, and the kernel's counters of a, their increase while recording (nstat):

$(sed 's/^/      /' "$tmp/counters.txt")

$(grep -E 'Tcp|TcpExt' "$tmp/nstat.txt" | sed 's/^/      /')

- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.
END
        sums opens.nmb counts.txt truth.csv
    } > "$out/PROVENANCE.md"
}

# node NODE POD OWN OTHER WIRE_OWN WIRE_OTHER: a pod behind a bridge, and a VXLAN tunnel to the other node, as flannel makes them.
node() {
    in_ns "$1" sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-$1" link add cni0 type bridge
    ip -n "$id-$1" addr add "10.244.$3.1/24" dev cni0
    ip -n "$id-$1" link set cni0 up
    ip -n "$id-$2" link add eth0 type veth peer name pod netns "$id-$1"
    ip -n "$id-$1" link set pod master cni0 up
    ip -n "$id-$2" addr add "10.244.$3.2/24" dev eth0
    ip -n "$id-$2" link set eth0 mtu 1450 up
    ip -n "$id-$2" route add default via "10.244.$3.1"
    ip -n "$id-$1" link add flannel.1 address "02:00:00:00:00:0$3" type vxlan id 1 dstport 8472 local "$5" remote "$6"
    ip -n "$id-$1" link set flannel.1 mtu 1450 up
    ip -n "$id-$1" addr add "10.244.$3.0/32" dev flannel.1
    ip -n "$id-$1" route add "10.244.$4.0/24" via "10.244.$4.0" dev flannel.1 onlink
    ip -n "$id-$1" neigh add "10.244.$4.0" lladdr "02:00:00:00:00:0$4" dev flannel.1 nud permanent
}

overlay() {
    for ns in a na r nb b; do
        ip netns add "$id-$ns"
        in_ns "$ns" sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n "$id-$ns" link set lo up
    done
    link na eth0 192.168.50.1/24 r ra 192.168.50.254/24
    link nb eth0 192.168.60.1/24 r rb 192.168.60.254/24
    in_ns r sysctl -q net.ipv4.ip_forward=1
    ip -n "$id-na" route add default via 192.168.50.254
    ip -n "$id-nb" route add default via 192.168.60.254
    node na a 1 2 192.168.50.1 192.168.60.1
    node nb b 2 1 192.168.60.1 192.168.50.1
    tc -n "$id-r" qdisc add dev ra root tbf rate 20mbit burst 16kbit limit 60000
    in_ns b python3 messages.py serve 7301 100 100 &
    in_ns b iperf3 -s -1 -p 7302 > /dev/null &
    sleep 1
    cat > run.sh <<END
ip netns exec $id-a sh -c 'sleep 0.3; exec iperf3 -c 10.244.2.2 -p 7302 -R -n 1200K' > /dev/null &
ip netns exec $id-a python3 messages.py ask 10.244.2.2 7301 20 100 100 40 > truth.csv
wait
END
    tc -n "$id-r" -s -j qdisc show dev ra > before.json
    in_ns b nstat -n
    netmortem-record -o overlay.nmb -- sh run.sh > recorder.txt 2>&1
    in_ns b nstat -z TcpRetransSegs TcpExtTCPLossProbes | tail -n +2 > nstat.txt
    tc -n "$id-r" -s -j qdisc show dev ra > after.json
    jq -c -n 'input[0] as $b | input[0] as $a | {packets: ($a.packets - $b.packets), drops: ($a.drops - $b.drops)}' before.json after.json > "$out/tc.json"
    counts overlay.nmb
    cp truth.csv "$out"
    cp overlay.nmb "$out"
    {
        cat <<END
# overlay

A real recording of two pods on two nodes of a VXLAN overlay, as flannel makes it, with a bottleneck that drops between the nodes.

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh overlay\` on $(date -u +%F) |

## How

Network namespaces a (pod 10.244.1.2), na (its node, 192.168.50.1), r (a router), nb (a node, 192.168.60.1), b (pod 10.244.2.2). In a pod eth0 is a veth
whose other end, pod, is a port of the bridge cni0 of its node; nodes send by flannel.1 (VXLAN) over their own eth0 to devices ra and rb of the router. On ra
towards na a tbf of 20 Mbit/s whose queue holds 60,000 bytes. a asks b 20 times for 100 bytes (port 7301); from 0.3 s on b sends 1200 KB to a (iperf3, port 7302):

$(sed 's/^/    /' recorder.txt)

## Oracles

- \`tc.json\`: what the qdisc of ra sent and dropped meanwhile, packets (it segments what is larger than a frame), by tc: $(tr -d '\n' < "$out/tc.json");
- the kernel's counters of b, their increase while recording (nstat):

$(awk '{print "      " $1, $2}' nstat.txt)

- \`truth.csv\`: CLOCK_MONOTONIC (the recording's clock) of each request before its send and behind its answer, ns;
- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.
END
        sums overlay.nmb counts.txt truth.csv tc.json
    } > "$out/PROVENANCE.md"
}

# What the device vb, the stack of b and RPS have counted: frames, IP packets (GRO makes fewer of them), wake-ups of another CPU.
gro_counts() {
    echo "frames $(ip -n "$id-b" -s -j link show dev vb | jq '.[0].stats64.rx.packets')"
    in_ns b awk '$1 == "Ip:" && $3 ~ /^[0-9]/ {print "IpInReceives", $4}' /proc/net/snmp
    python3 -c 'print("received_rps", sum(int(l.split()[9], 16) for l in open("/proc/net/softnet_stat")))'
}

gro() {
    for ns in a b; do
        ip netns add "$id-$ns"
        in_ns "$ns" sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n "$id-$ns" link set lo up
    done
    link a va 10.91.1.1/24 b vb 10.91.1.2/24
    # The sender's frames are of the wire's size, as they come from a network; the receiver merges them.
    in_ns a ethtool -K va tso off gso off > /dev/null
    in_ns b ethtool -K vb gro on > /dev/null
    in_ns b sh -c 'echo 2 > /sys/class/net/vb/queues/rx-0/rps_cpus'
    in_ns b taskset 2 python3 messages.py serve 7401 20000 1 &
    sleep 1
    # No ARP: each frame has an IP packet.
    mac() { ip -n "$id-$1" -j link show dev "$2" | jq -r '.[0].address'; }
    ip -n "$id-a" neigh add 10.91.1.2 lladdr "$(mac b vb)" dev va nud permanent
    ip -n "$id-b" neigh add 10.91.1.1 lladdr "$(mac a va)" dev vb nud permanent
    gro_counts > before.txt
    netmortem-record -o gro.nmb -- \
        ip netns exec "$id-a" sh -c 'taskset 1 python3 messages.py ask 10.91.1.2 7401 30 20000 1 5 > truth.csv' > recorder.txt 2>&1
    gro_counts > after.txt
    paste -d ' ' before.txt after.txt | awk 'BEGIN {print "name,count"} {print $1 "," $4 - $2}' > "$out/counters.csv"
    counts gro.nmb
    cp truth.csv "$out"
    without_symbols gro
    {
        cat <<END
# gro

A real recording of messages over a veth pair whose receiving end merges frames (GRO) and steers what it has merged to another CPU (RPS).

| | |
|---|---|
$(host_rows)
| Made by | \`tests/lab/record-samples.sh gro\` on $(date -u +%F) |

## How

Network namespaces a and b. \`ethtool -K va tso off gso off\` in a: frames are of 1,500 bytes at most; \`ethtool -K vb gro on\` and
\`rps_cpus\` 2 in b: vb's NAPI on the sender's CPU 0 merges, CPU 1 goes on. a sends 30 times 20,000 bytes, b reads them on CPU 1 and
answers one byte:

$(sed 's/^/    /' recorder.txt)

## Oracles

- \`counters.csv\`: the increase while recording of the frames vb received (\`ip -s link\`), of b's IpInReceives (\`/proc/net/snmp\`: each merge
  makes one IP packet fewer of two frames) and of the interrupts by which RPS woke the other CPU (\`softnet_stat\`, whole machine): $(tail -n +2 "$out/counters.csv" | tr '\n' ' ');
- \`truth.csv\`: CLOCK_MONOTONIC (the recording's clock) before each send and behind its answer, ns;
- \`counts.txt\`: events by name, counted in the output of \`trace-cmd report -R\` for the same sub-buffers.

Without the kernel's symbols, for its size.
END
        sums gro.nmb.zst counts.txt truth.csv counters.csv
    } > "$out/PROVENANCE.md"
}

case $what in
sawtooth) sawtooth ;;
rpc) rpc ;;
neighbour) neighbour ;;
mtu) mtu ;;
cpu) cpu ;;
opens) opens ;;
named) named ;;
datagrams) datagrams ;;
lookups) lookups ;;
seconds) seconds ;;
changes) changes ;;
overlay) overlay ;;
gro) gro ;;
*) echo "usage: record-samples.sh sawtooth|rpc|neighbour|mtu|cpu|opens|named|datagrams|lookups|seconds|changes|overlay|gro OUT_DIR [RECORDER]" >&2; exit 2 ;;
esac
