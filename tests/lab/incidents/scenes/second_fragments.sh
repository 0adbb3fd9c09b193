# ticket: Looking up some names at 10.9.2.2:7335 takes 0.8 s, always the same ones. The name server's log says that it answered at once.
# planted: A rule at the router drops all fragments but the first; answers of 2,600 bytes have two.
# first: an nftables rule or policy
# first: second fragment
# first: 2600 bytes
# page: were dropped by this host
plant() {
    serve server datagrams 7335 answer=2560 long=5
    rule 'ip frag-off & 0x1fff != 0 counter drop'
}
traffic() { ask names 10.9.2.2 7335 4; }
