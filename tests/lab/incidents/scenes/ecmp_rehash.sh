# ticket: Devices lose their connections to 10.9.9.9:7463 in batches; the servers say that they closed none.
# planted: Two servers have 10.9.9.9, to which the router has two ways by L4 hash; the one by rs is withdrawn at 1.5 s and comes back at 3 s: connections go to a server that does not know them.
# first: 10.9.9.9:7463
# first: in place of
# first: route
# page: another host
plant() {
    third
    for where in server other; do
        "$where" ip addr add 10.9.9.9/32 dev lo
        serve "$where" echo 7463
    done
    router sysctl -qw net.ipv4.fib_multipath_hash_policy=1
    router ip route add 10.9.9.9 nexthop via 10.9.2.2 nexthop via 10.9.3.2 || cannot "no routes with several ways"
}
traffic() {
    (
        sleep 1.5
        router ip route replace 10.9.9.9 via 10.9.3.2
        sleep 1.5
        router ip route replace 10.9.9.9 nexthop via 10.9.2.2 nexthop via 10.9.3.2
    ) &
    ask requests 10.9.9.9 7463 4.5 gap=0.05 threads=16
    wait
}
