# ticket: 10.9.2.2:7474 cannot be reached from 10.9.1.2, every try times out. Its neighbours in 10.9.2.0/24 have no trouble with it.
# planted: Packets of 10.9.2.2 have a TTL of 1 (net.ipv4.ip_default_ttl), so the first router drops them.
# first: the answers are lost on the way back
# first: 10.9.2.2:7474
# page: sent with a TTL of 1
# page: ip_default_ttl
plant() {
    serve server echo 7474
    serve router echo 7475
    server sysctl -qw net.ipv4.ip_default_ttl=1
}
traffic() {
    ask requests 10.9.1.1 7475 8 gap=0.02 &
    ask requests 10.9.2.2 7474 8 timeout=3 threads=4 gap=0.2
    wait
}
