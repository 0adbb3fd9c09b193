#!/usr/bin/env bash
# Where the analysis spends its CPU time: samples of the analysis alone, by tracker and by function. Prints the top of each.
#
#   tests/benches/profile.sh FILE [FLAMEGRAPH.SVG]     with inferno's or FlameGraph's tools in the PATH also a flame graph
#
# Builds with frame pointers into target/profile. Needs perf and python3.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
file=$(realpath "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
target=${CARGO_TARGET_DIR:-$root/target}/profile
(cd "$root" && RUSTFLAGS="-C force-frame-pointers=yes" CARGO_PROFILE_RELEASE_STRIP=none CARGO_TARGET_DIR=$target \
    cargo build -q --release -p netmortem-analyzer --example analyze)
perf record -q -e cpu-clock -F 1997 --call-graph fp -o "$tmp/perf.data" "$target/release/examples/analyze" "$file"
perf script -i "$tmp/perf.data" -F comm,tid,ip,sym 2> /dev/null > "$tmp/stacks"
python3 - "$tmp/stacks" <<'PY'
import collections, re, sys
part = re.compile(r"netmortem_analyzer::(ingest|reconstruct::(?!dispatch|run\b|context)\w+|analyses|stat)")
parts, leaves, total = collections.Counter(), collections.Counter(), 0
def count(stack):
    global total
    if not stack:
        return
    total += 1
    leaves[stack[0]] += 1
    owner = next((m.group(1) for m in map(part.search, stack) if m), "not told (inlined, allocator, kernel)")
    parts[owner] += 1
stack = []
for line in open(sys.argv[1]):
    line = line.rstrip()
    if not line:
        count(stack)
        stack = []
    elif line[0] in " \t":
        stack.append(line.strip().split(" ", 1)[-1])
count(stack)
print(f"{total} samples; by part:")
for name, n in parts.most_common(10):
    print(f"{100 * n / total:6.1f} %  {name}")
print("by function:")
for name, n in leaves.most_common(10):
    print(f"{100 * n / total:6.1f} %  {name[:110]}")
PY
if [ -n "${2:-}" ]; then
    if command -v inferno-collapse-perf > /dev/null; then
        perf script -i "$tmp/perf.data" | inferno-collapse-perf | inferno-flamegraph > "$2"
    elif command -v stackcollapse-perf.pl > /dev/null; then
        perf script -i "$tmp/perf.data" | stackcollapse-perf.pl | flamegraph.pl > "$2"
    else
        echo "no inferno or FlameGraph in the PATH: no picture" >&2
    fi
fi
