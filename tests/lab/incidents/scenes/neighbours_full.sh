# ticket: A poller asks 1200 devices in 10.20.0.0/16 by UDP, and always the same many do not answer; they are up.
# planted: The kernel keeps at most 1024 neighbours (gc_thresh3), for all its namespaces together.
# first: NEIGH_CREATEFAIL | table of neighbours | neighbour table
# first: full
# page: gc_thresh3
plant() {
    [ "$(sysctl -n net.ipv4.neigh.default.gc_thresh3)" -le 1024 ] || cannot "a larger table of neighbours"
    client ip route add 10.20.0.0/16 dev c0
    router ip route add local 10.20.0.0/16 dev lo
    router python3 "$here/traffic.py" serve datagrams 7344 answer=60 &
    sleep 0.4
}
traffic() { ask sweep 10.20.0.1 7344 3; }
