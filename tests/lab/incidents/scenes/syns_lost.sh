# ticket: Some connections to 10.9.2.2:7105 take a second or more to open.
# planted: A rule at the router's rc drops each third SYN to that port.
# first: SYN was retransmitted | given up
# first: NETFILTER_DROP
# page: SYN
plant() {
    serve server echo 7105
    rule tcp dport 7105 'tcp flags & (syn | ack) == syn' numgen inc mod 3 0 counter drop
}
traffic() { ask requests 10.9.2.2 7105 4 new=1 gap=0.1 threads=3; }
