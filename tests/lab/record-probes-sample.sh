#!/bin/sh
# record-probes-sample.sh RECORDER OUT_DIR
# Records sample-data/probes/ again, with its oracles, under Debian's 6.12 in an emulated machine (this one's kernel may have no kprobes). RECORDER is a
# static netmortem-record. Needs cc, jq, zstd, ss, and what tests/lab/boot-kernel needs.
set -eu
here=$(dirname "$(realpath "$0")")
recorder=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
cc -O1 -o "$tmp/probes" "$here/probes.c" -lpthread
cat > "$tmp/guest.sh" <<'GUEST'
mkdir -p /etc && echo 'nameserver 127.0.0.1' > /etc/resolv.conf && echo 'hosts: files dns' > /etc/nsswitch.conf
/in/netmortem-record -b 4M --profile lean --extra kprobes -o /out/probes.nmb -- probes > /out/played 2> /out/said
cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/uprobe_events > /out/left 2>&1
GUEST
cp "$recorder" "$tmp/netmortem-record"
PATH="$tmp:$PATH" "$here/boot-kernel" -t 300 -f "$tmp/netmortem-record" -f "$tmp/guest.sh" -p probes -p ss -p tr -p cut 6.12 "$tmp/out" sh /in/guest.sh
cat "$tmp/out/said" "$tmp/out/played" "$tmp/out/left"
cp "$tmp/out/played" "$out/truth.txt"
# Without the kernel's symbols: nothing asks for them.
mkdir "$tmp/bundle" && cd "$tmp/bundle" && tar -xf "$tmp/out/probes.nmb"
jq '.members |= map(select(.name | startswith("symbols") | not))' end.json > end && mv end end.json
tar -tf "$tmp/out/probes.nmb" | grep -v '^symbols' > "$tmp/members"
tar --owner=0 --group=0 -cf - --no-recursion -T "$tmp/members" | zstd -q -19 -f -o "$out/probes.nmb.zst"
