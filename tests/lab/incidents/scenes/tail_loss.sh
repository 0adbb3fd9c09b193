# ticket: One in twelve requests to 10.9.2.2:7213 takes 200 ms longer.
# planted: A rule at the router drops the last segment of each 12th request: nothing follows it, so nobody asks for it again.
# first: NETFILTER_DROP
# page: tlp
plant() {
    client ethtool -K c0 tso off gso off
    serve server echo 7213
    rule tcp dport 7213 ip length 100-400 numgen inc mod 12 7 counter drop
}
traffic() { ask requests 10.9.2.2 7213 3 up=6001 gap=0.02 congestion=cubic; }
