# ticket: Lists from 10.9.2.2:7435 hang for seconds and come back by themselves; no link loses anything.
# planted: net.ipv4.tcp_mem allows 12 MiB for all sockets of the host; the collector at 10.9.2.2:7436 reads nothing for seconds, and its clients fill it.
# first: the memory that all TCP sockets of this host share was short
# first: 7436
plant() {
    # It is the host's, and put back whatever happens.
    before=$(sysctl -n net.ipv4.tcp_mem)
    trap 'cleanup; sysctl -qw net.ipv4.tcp_mem="$before"' EXIT
    sysctl -qw net.ipv4.tcp_mem="1536 2048 3072" || cannot "tcp_mem cannot be set"
    server sysctl -qw net.ipv4.tcp_rmem="4096 4000000 6000000"
    serve server echo 7435
    serve server sink 7436 every=1000000 pause=3
}
traffic() {
    for _ in $(seq 6); do ask bulk 10.9.2.2 7436 4 & done
    ask requests 10.9.2.2 7435 4 up=100000 down=120000 threads=3 timeout=4
    wait
}
