#!/usr/bin/env bash
# Whether the analysis grows linearly: the same traffic recorded for SHORT and for ten times SHORT seconds, analysed one after
# the other; prints events, seconds, peak memory and the ratios. Exit code 1 when ten times the events took more than 11 times
# the time (after scaling to the events there are). Needs root, tracefs, iproute2, iperf3, GNU time, python3.
#
#   tests/benches/linear.sh [SHORT_SECONDS]        default 1
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
short=${1:-1}
runs=${RUNS:-3}
id=nmlinear-$$
tmp=$(mktemp -d)
cleanup() {
    ip netns pids "$id" 2>/dev/null | xargs -r kill 2>/dev/null || true
    ip netns del "$id" 2>/dev/null || true
    rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
for tool in ip iperf3 python3; do
    command -v "$tool" > /dev/null || { echo "linear.sh needs $tool" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "linear.sh records: it needs root" >&2; exit 2; }
target=${CARGO_TARGET_DIR:-$root/target}
(cd "$root" && cargo build -q --release -p netmortem-recorder && cargo build -q --release -p netmortem-analyzer --example analyze)

ip netns add "$id"
ip -n "$id" link set lo up
ip netns exec "$id" iperf3 -s > /dev/null &
sleep 0.5
for seconds in "$short" $((short * 10)); do
    "$target/release/netmortem-record" -b 64M --max-buffers 1G --max-cpu 10000 -o "$tmp/$seconds.nmb" -- \
        ip netns exec "$id" iperf3 -c 127.0.0.1 -t "$seconds" -P 3 -l 2K > /dev/null 2> "$tmp/record.err"
    for _ in $(seq "$runs"); do
        /usr/bin/time -f '%M' -o "$tmp/kib" "$target/release/examples/analyze" "$tmp/$seconds.nmb" > "$tmp/line"
        echo "$seconds $(cat "$tmp/kib") $(cat "$tmp/line")" >> "$tmp/all"
    done
done
python3 - "$tmp/all" <<'PY'
import json, sys
best = {}
for line in open(sys.argv[1]):
    seconds, kib, rest = line.split(" ", 2)
    row = json.loads(rest) | {"mib": int(kib) / 1024}
    if int(seconds) not in best or row["seconds"] < best[int(seconds)]["seconds"]:
        best[int(seconds)] = row
a, b = (best[k] for k in sorted(best))
for r in (a, b):
    print(f'{r["events"]:>12,} events  {r["seconds"]:7.2f} s  {r["events"]/r["seconds"]/1e6:5.2f} M events/s  {r["mib"]:8.0f} MiB  {r["rows"]:>10,} rows')
events, time = b["events"] / a["events"], b["seconds"] / a["seconds"]
print(f"events x{events:.2f}, time x{time:.2f}: ten times the events take {10 * time / events:.1f} times the time (limit 11)")
print(f'memory x{b["mib"] / a["mib"]:.2f}')
sys.exit(10 * time / events > 11)
PY
