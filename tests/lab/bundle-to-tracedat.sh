#!/bin/sh
# bundle-to-tracedat.sh BUNDLE OUT.dat
# Puts the sub-buffers of a bundle, byte for byte, into a trace.dat that trace-cmd can read: an oracle for our decoding
# that never saw our code. Uses only tar, zstd, python3 and trace-cmd; event formats and symbols come from the bundle. The formats
# of ftrace's own events, which trace-cmd insists on, come from the running kernel: use the kernel that recorded.
set -eu
bundle=$(realpath "$1") out=$(realpath "$2")
tracefs=/sys/kernel/tracing
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/x" "$tmp/t" "$tmp/t/events"
tar xf "$bundle" -C "$tmp/x"
cp -r "$tmp/x/events/." "$tmp/t/events/"
cp "$tmp/x/header_page" "$tmp/x/header_event" "$tmp/t/events/"
mkdir "$tmp/t/events/ftrace"
for e in "$tracefs"/events/ftrace/*/; do
    mkdir "$tmp/t/events/ftrace/$(basename "$e")"
    cat "$e/format" > "$tmp/t/events/ftrace/$(basename "$e")/format"
done
cp "$tmp/x/printk_formats" "$tmp/x/saved_cmdlines" "$tmp/t/"
echo '[mono]' > "$tmp/t/trace_clock"
# Each address is the distance from the one before.
[ ! -f "$tmp/x/symbols.zst" ] || zstd -q -d -c "$tmp/x/symbols.zst" | python3 -c 'import sys
a = 0
for line in sys.stdin:
    d, rest = line.split(" ", 1)
    a = a + int(d, 16) & 2**64 - 1
    sys.stdout.write(f"{a:016x} {rest}")' > "$tmp/kallsyms"
[ ! -f "$tmp/x/kallsyms.zst" ] || zstd -q -d "$tmp/x/kallsyms.zst" -o "$tmp/kallsyms"
cpus=
for n in $(ls "$tmp/x/trace" | sed 's/^cpu//' | sort -n); do
    zstd -q -d -c "$tmp/x/trace/cpu$n"/*.pages.zst > "$tmp/trace.cpu$n"
    cpus="$cpus $tmp/trace.cpu$n"
done
cd "$tmp"
trace-cmd restore -c -t "$tmp/t" -k "$tmp/kallsyms" -o "$tmp/head.dat" > /dev/null
# shellcheck disable=SC2086
trace-cmd restore -i "$tmp/head.dat" -o "$out" $cpus > /dev/null 2>&1
