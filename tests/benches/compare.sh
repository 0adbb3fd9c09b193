#!/usr/bin/env bash
# Compares netmortem with trace-cmd on one recording, in one run, and prints ratios.
#
#   tests/benches/compare.sh [TRACE.DAT]     without a file it records one (root; 1.5 million events or more)
#   TRAFFIC=wrk tests/benches/compare.sh     of other traffic: loopback (default), udp, veth, wrk; KEEP=FILE keeps the recording
#
# Printed: full decode (`netmortem check`), the whole reconstruction (`analyzer/examples/analyze.rs`: every table, nothing written)
# and the whole report (`netmortem report`) against `trace-cmd report >/dev/null`, and netmortem's peak memory against the bytes of
# the decoded ring buffer. The targets are stated beside. Exit code 1 when one is missed. The targets are for wall time on a machine
# with nothing else to do; on a busy one, where a program of several threads waits for its turn most, read the ratio of CPU seconds.
#
# Needs trace-cmd, GNU time, jq or python3; to record also iproute2, iperf3 (nginx, wrk) and tracefs. NETMORTEM names the program to measure
# (default: target/release/netmortem, built when absent), ANALYZE the example (default: target/release/examples/analyze, the same),
# RUNS the runs of each command (default 3, the fastest counts; they take turns, so that all meet the same load).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
runs=${RUNS:-3}
tracefs=/sys/kernel/tracing
id=nmcompare-$$
tmp=$(mktemp -d)

cleanup() {
    rmdir "$tracefs/instances/$id" 2>/dev/null || true
    for ns in "$id" "$id-b"; do
        ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null || true
        ip netns del "$ns" 2>/dev/null || true
    done
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

need() {
    for tool in "$@"; do
        command -v "$tool" > /dev/null || { echo "compare.sh needs $tool" >&2; exit 2; }
    done
}

# Two namespaces joined by a veth, 10.9.9.1 and 10.9.9.2; over loopback one is enough.
hosts() {
    ip netns add "$id"
    ip -n "$id" link set lo up
    [ "$1" = loopback ] && return
    ip netns add "$id-b"
    ip -n "$id" link add veth0 type veth peer name veth0 netns "$id-b"
    ip -n "$id" address add 10.9.9.1/24 dev veth0
    ip -n "$id-b" address add 10.9.9.2/24 dev veth0
    ip -n "$id" link set veth0 up
    ip -n "$id-b" link set veth0 up
}

# One page of 612 bytes, by one process.
pages() {
    chmod 755 "$tmp"
    head -c 611 /dev/zero | tr '\0' x > "$tmp/index.html"
    cat > "$tmp/nginx.conf" <<CONF
daemon off; master_process off; pid $tmp/pid; error_log /dev/null;
events { worker_connections 256; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path $tmp/b; proxy_temp_path $tmp/p;
    fastcgi_temp_path $tmp/f; uwsgi_temp_path $tmp/u; scgi_temp_path $tmp/s;
    server { listen 8080; root $tmp; } }
CONF
}

in_a() { ip netns exec "$id" "$@" > /dev/null; }
in_b() { ip netns exec "$id-b" "$@" > /dev/null; }

# Traffic of the kind TRAFFIC names, in namespaces and a tracing instance of its own: small writes over loopback by default.
record() {
    local kind=${TRAFFIC:-loopback} seconds=${SECONDS_OF_TRAFFIC:-3} i=$tracefs/instances/$id e
    need ip iperf3
    [ "$(id -u)" = 0 ] && [ -d "$tracefs/instances" ] || { echo "recording needs root and tracefs at $tracefs" >&2; exit 2; }
    hosts "$kind"
    mkdir "$i"
    echo 0 > "$i/tracing_on"
    echo mono > "$i/trace_clock"
    echo 262144 > "$i/buffer_size_kb"
    for e in net skb napi/napi_poll irq/softirq_{raise,entry,exit} irq/irq_handler_{entry,exit} tcp sock sched/sched_{switch,waking,wakeup}; do
        echo 1 > "$i/events/$e/enable" 2>/dev/null || true
    done
    case $kind in
        loopback) in_a iperf3 -s & ;;
        udp | veth) in_b iperf3 -s & ;;
        wrk)
            need nginx wrk
            pages
            in_b nginx -c "$tmp/nginx.conf" 2> /dev/null &
            ;;
        *) echo "TRAFFIC is loopback, udp, veth or wrk, not $kind" >&2; exit 2 ;;
    esac
    sleep 0.5
    echo 1 > "$i/tracing_on"
    case $kind in
        loopback) in_a iperf3 -c 127.0.0.1 -t "$seconds" -P 3 -l 2K ;;
        udp) in_a iperf3 -c 10.9.9.2 -t "$seconds" -u -b 0 -l 200 ;;
        veth) in_a iperf3 -c 10.9.9.2 -t "$seconds" -P 3 ;;
        wrk) in_a wrk -t1 -c32 -d "$seconds" http://10.9.9.2:8080/ ;;
    esac
    echo 0 > "$i/tracing_on"
    trace-cmd extract -o "$1" -B "$id" > "$tmp/extract.txt" 2>&1 || { cat "$tmp/extract.txt" >&2; exit 1; }
    [ -z "${KEEP:-}" ] || cp "$1" "$KEEP"
}

# measure NAME COMMAND...: one run; its wall, user and system seconds and peak RSS (KiB) go to $tmp/NAME.all
measure() {
    local name=$1
    shift
    /usr/bin/time -f '%e %U %S %M' -o "$tmp/$name.time" "$@" > /dev/null 2> "$tmp/$name.err" || { cat "$tmp/$name.err" >&2; exit 1; }
    cat "$tmp/$name.time" >> "$tmp/$name.all"
}

# best NAME: fastest wall seconds in $tmp/NAME.s, least CPU seconds in $tmp/NAME.cpu, highest peak RSS in $tmp/NAME.kib
best() {
    sort -n "$tmp/$1.all" | awk 'NR == 1 {print $1}' > "$tmp/$1.s"
    awk '{print $2 + $3}' "$tmp/$1.all" | sort -n | head -1 > "$tmp/$1.cpu"
    awk '$4 > m {m = $4} END {print m}' "$tmp/$1.all" > "$tmp/$1.kib"
}

# json KEY: an integer of the check's JSON
json() {
    if command -v jq > /dev/null; then
        jq -r ".$1" "$tmp/check.json"
    else
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$tmp/check.json" "$1"
    fi
}

need trace-cmd awk
[ -x /usr/bin/time ] || { echo "compare.sh needs GNU time at /usr/bin/time" >&2; exit 2; }
netmortem=${NETMORTEM:-$root/target/release/netmortem}
[ -x "$netmortem" ] || cargo build --release --quiet --manifest-path "$root/Cargo.toml" -p netmortem
analyze=${ANALYZE:-$root/target/release/examples/analyze}
[ -x "$analyze" ] || cargo build --release --quiet --manifest-path "$root/Cargo.toml" -p netmortem-analyzer --example analyze
input=${1:-}
if [ -z "$input" ]; then
    input=$tmp/trace.dat
    record "$input"
fi

"$netmortem" check --json "$input" > "$tmp/check.json"
events=$(json total_events)
ring=$(json ring_bytes)
for ((n = 0; n < runs; n++)); do
    measure peer trace-cmd report "$input"
    measure check "$netmortem" check "$input"
    measure one "$netmortem" --threads 1 check "$input"
    measure tables "$analyze" "$input"
    measure report "$netmortem" report "$input" -o "$tmp/report.html"
done
for name in peer check one tables report; do best "$name"; done

echo "recording: $events events, $((ring >> 20)) MiB of ring buffer, $(nproc) CPUs; $runs runs each, the fastest counts"
awk -v events="$events" -v ring="$ring" -v peer="$(cat "$tmp/peer.s")" -v peer_kib="$(cat "$tmp/peer.kib")" -v peer_cpu="$(cat "$tmp/peer.cpu")" \
    -v check="$(cat "$tmp/check.s")" -v check_kib="$(cat "$tmp/check.kib")" -v check_cpu="$(cat "$tmp/check.cpu")" \
    -v one="$(cat "$tmp/one.s")" -v one_kib="$(cat "$tmp/one.kib")" -v one_cpu="$(cat "$tmp/one.cpu")" \
    -v tables="$(cat "$tmp/tables.s")" -v tables_kib="$(cat "$tmp/tables.kib")" -v tables_cpu="$(cat "$tmp/tables.cpu")" \
    -v report="$(cat "$tmp/report.s")" -v report_kib="$(cat "$tmp/report.kib")" -v report_cpu="$(cat "$tmp/report.cpu")" '
function row(name, s, cpu, kib) { printf "%-32s %8.2f s %8.2f CPU-s %9.2f M events/s %7d MiB\n", name, s, cpu, events / s / 1e6, kib / 1024 }
function ratio(name, value, target, high) {
    good = high ? value >= target : value < target
    if (!good) missed = 1
    printf "%-46s %6.1fx  (target %s %sx)%s\n", name, value, high ? "at least" : "below", target, good ? "" : "  MISSED"
}
function atleast(s) { return s < 0.005 ? 0.005 : s } # the resolution of GNU time
BEGIN {
    check = atleast(check); one = atleast(one); tables = atleast(tables); report = atleast(report); peer = atleast(peer)
    row("trace-cmd report >/dev/null", peer, peer_cpu, peer_kib)
    row("netmortem check", check, check_cpu, check_kib)
    row("netmortem --threads 1 check", one, one_cpu, one_kib)
    row("reconstruction (analyze)", tables, tables_cpu, tables_kib)
    row("netmortem report", report, report_cpu, report_kib)
    ratio("check against trace-cmd report", peer / check, 40, 1)
    ratio("reconstruction against trace-cmd report", peer / tables, 10, 1)
    ratio("report against trace-cmd report", peer / report, 10, 1)
    printf "%-46s %6.1fx and %.1fx\n", "the same two in CPU seconds", peer_cpu / tables_cpu, peer_cpu / report_cpu
    ratio("peak memory of reconstruction against the ring", tables_kib * 1024 / ring, 3, 0)
    ratio("peak memory of report against the ring bytes", report_kib * 1024 / ring, 3, 0)
    if (events < 1500000) { print "the recording has fewer than 1,500,000 events: the targets are for larger ones"; missed = 1 }
    exit missed
}'
