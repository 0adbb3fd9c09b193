# ticket: A part of the deliveries of two workers to the partner 10.9.2.2:7442 takes one, two, four seconds to begin; what they hold open works.
# planted: The router translates both to 16 ports of 10.9.2.51, of which 13 are held by streams; the SYNs of others find none and are dropped.
# first: no free port
# first: 10.9.2.2:7442
# first: 16 ports of 10.9.2.51
plant() {
    third
    router ip addr add 10.9.2.51/24 dev rs
    router nft add table ip nat
    router nft add chain ip nat post '{ type nat hook postrouting priority 100; }'
    router nft add rule ip nat post oifname rs tcp dport 7442 snat to 10.9.2.51:41000-41015
    router sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_time_wait=1
    serve server echo 7442
    ask requests 10.9.2.2 7442 9 gap=0.2 threads=7 &
    other python3 "$here/traffic.py" requests 10.9.2.2 7442 9 gap=0.2 threads=6 &
    sleep 1
}
traffic() {
    other python3 "$here/traffic.py" requests 10.9.2.2 7442 5 new=1 threads=2 gap=0.3 &
    ask requests 10.9.2.2 7442 5 new=1 threads=2 gap=0.3
    wait
}
