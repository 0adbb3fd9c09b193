#!/bin/sh
# record-perf-sample.sh OUT_DIR
# Records sample-data/perf-loopback/ again, with its oracles. Needs root, iproute2, perf, zstd, python3. Makes a network
# namespace named nmperf-<pid> and removes it.
set -eu
mkdir -p "$1"
out=$(realpath "$1")
ns=nmperf-$$
tmp=$(mktemp -d)
cd "$tmp"
trap 'ip netns del "$ns" 2> /dev/null; rm -rf "$tmp"' EXIT INT TERM
ip netns add "$ns"
ip -n "$ns" link set lo up

# N requests of 100 to 2,100 bytes and answers of 50 over one TCP connection; N / 8 datagrams that nobody wants.
cat > talk.py <<'END'
import socket, sys, threading
n = int(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 7100))
def serve():
    c, _ = listener.accept()
    while b := c.recv(65536):
        c.sendall(b[:50])
server = threading.Thread(target=serve)
server.start()
c = socket.create_connection(("127.0.0.1", 7100))
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for i in range(n):
    c.sendall(b"x" * (100 + i * 37 % 2000))
    c.recv(65536)
c.close()
server.join()
for i in range(n // 8):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"y" * 100, ("127.0.0.1", 9))
END

events='net:net_dev_queue,net:net_dev_start_xmit,net:net_dev_xmit,net:netif_rx,net:netif_receive_skb,napi:napi_poll,skb:*'
events="$events,tcp:tcp_probe,tcp:tcp_sendmsg_locked,tcp:tcp_rcv_space_adjust,tcp:tcp_destroy_sock,sock:inet_sock_set_state"
events="$events,sock:sk_data_ready,sock:sock_send_length,sock:sock_recv_length,irq:softirq_*"
events="$events,sched:sched_switch,sched:sched_waking,sched:sched_wakeup"

# Other programs' files are nobody's business: again, while the recording names any.
clean() {
    ! perf script -i "$1" --show-mmap-events 2> /dev/null | grep RECORD_MMAP | awk '{print $NF}' |
        grep -v -e '^/usr/' -e '^\[' -e '^//anon' | grep -q .
}
until
    nice -n -20 perf record -q -B -N --synth=no -a -k mono -z -e "$events" -o perf.data -- ip netns exec "$ns" /usr/bin/python3 talk.py 25
    clean perf.data
do :; done
# Rings of one page and a reader that comes late, an event that is no tracepoint, and a pipe instead of a file.
until
    nice -n 19 perf record -q -B -N --synth=no -a -k mono -m 1 -e "$events" -e cpu-clock -o - -- \
        nice -n -39 ip netns exec "$ns" /usr/bin/python3 talk.py 100 > mixed.pipe
    clean mixed.pipe && perf script -i mixed.pipe --show-lost-events 2> /dev/null | grep -q RECORD_LOST
do :; done

# What perf reads in them: tid, CPU, time, event and its text; names of tasks; losses.
for f in perf.data mixed.pipe; do
    name=${f%%.*}
    perf script -i $f --ns -F tid,cpu,time,event,trace 2> /dev/null | grep -v ' cpu-clock:' | zstd -q -19 > "$out/$name.script.zst"
    perf script -i $f --ns -F event 2> /dev/null | tr -d ' ' | sed 's/:$//' | LC_ALL=C sort | uniq -c |
        awk '{print $2, $1; n += $1} END {print "total", n}' > "$out/$name.counts.txt"
    perf script -i $f --show-lost-events 2> /dev/null | sed -n 's/.*\[\([0-9]*\)\].*PERF_RECORD_LOST lost \([0-9]*\).*/\1 \2/p' |
        awk '{n[$1 + 0] += $2} END {for (c in n) print c, n[c]}' | sort -n > "$out/$name.lost.txt"
done
perf script -i perf.data --show-task-events 2> /dev/null | sed -n 's/.*PERF_RECORD_COMM[^:]*: \(.*\):[0-9]*\/\([0-9]*\)$/\2 \1/p' |
    awk '{t = $1; sub(/^[0-9]+ /, ""); n[t] = $0} END {for (t in n) print t, n[t]}' | sort -n > "$out/comms.txt"
cp perf.data "$out/perf.data"
zstd -q -f -19 mixed.pipe -o "$out/mixed.pipe.zst"
chmod 644 "$out"/*
ls -l "$out"
sha256sum "$out"/*
