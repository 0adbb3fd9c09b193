# ticket: Some calls of 10.9.1.2 to 10.9.2.2:7352 time out, each on a connection that worked before. New connections always work, and so do busy ones.
# planted: The router forgets connections that are silent for a second (conntrack) and drops what comes on them.
# first: forgotten
# first: 10.9.2.2:7352
# page: gave up
plant() {
    serve server echo 7352
    rule ct state established accept
    rule tcp flags '&' '(syn|ack)' == syn accept
    rule tcp dport 7352 counter drop
    router sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=1 net.netfilter.nf_conntrack_tcp_loose=0 2> /dev/null ||
        cannot "no connection tracking in a namespace"
}
traffic() { ask sleepers 10.9.2.2 7352 5; }
