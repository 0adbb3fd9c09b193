# ticket: For some seconds no new connection to 10.9.2.2:7229 comes up; the one that was there works on, the server idles.
# planted: 400 SYNs a second with sources 10.9.4.x that never answer; tcp_syncookies=0, listen(64): the half-open connections fill the queue.
# first: half-open
# first: SYNs
# page: 10.9.4.
plant() {
    third
    router ip route add 10.9.4.0/24 via 10.9.3.2
    server sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_syncookies=0 net.ipv4.tcp_max_syn_backlog=64
    serve server echo 7229 backlog=64
}
traffic() {
    (sleep 1; other python3 "$here/traffic.py" flood 10.9.2.2 7229 2.5) &
    ask requests 10.9.2.2 7229 4.2 gap=0.02 &
    ask requests 10.9.2.2 7229 4.2 new=1 threads=3 gap=0.1 timeout=1.6
    wait
}
