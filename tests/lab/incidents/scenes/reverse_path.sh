# ticket: Of the two addresses of the client one does not get through to 10.9.2.2:7108.
# planted: The router's strict reverse path filter drops what comes from 10.9.7.2, whose route points elsewhere.
# first: IP_RPFILTER
# first: 10.9.7.2
plant() {
    serve server echo 7108
    client ip addr add 10.9.7.2/24 dev c0
    router ip route add 10.9.7.0/24 via 10.9.2.2 dev rs
    router sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.rc.rp_filter=1
}
traffic() {
    ask requests 10.9.2.2 7108 3.5 new=1 gap=0.1 source=10.9.7.2 timeout=3 &
    ask requests 10.9.2.2 7108 3.5 new=1 gap=0.1
    wait
}
