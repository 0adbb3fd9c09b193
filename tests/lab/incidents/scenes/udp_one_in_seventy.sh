# ticket: Some questions to 10.9.2.2:5311 (UDP) take a second.
# planted: A rule at the router drops each 70th answer.
# first: NETFILTER_DROP
# first: exactly one in 70
plant() {
    serve server datagrams 5311 answer=1
    rule udp sport 5311 numgen inc mod 70 11 counter drop
}
traffic() { ask questions 10.9.2.2 5311 4; }
