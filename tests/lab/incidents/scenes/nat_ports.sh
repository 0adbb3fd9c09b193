# ticket: One in fifteen connections to 10.9.2.2:7230 takes a second or two to open since the second office is behind the same router.
# planted: The router maps two clients to 50 ports of 10.9.2.50 and uses them again after 1 s; the server has them in TIME_WAIT and refuses older timestamps.
# first: TIME_WAIT
# first: timestamps | PAWS
plant() {
    third
    router ip addr add 10.9.2.50/24 dev rs
    router nft add table ip nat
    router nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
    router nft add rule ip nat post oifname rs tcp dport 7230 counter snat to 10.9.2.50:41000-41049
    router sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_time_wait=1 net.netfilter.nf_conntrack_tcp_timeout_last_ack=1 \
        net.netfilter.nf_conntrack_tcp_timeout_close=1
    serve server echo 7230 once=1
}
traffic() {
    other python3 "$here/traffic.py" requests 10.9.2.2 7230 4.3 new=1 last=1 threads=4 gap=0.2 &
    ask requests 10.9.2.2 7230 4.3 new=1 last=1 threads=4 gap=0.2
    wait
}
