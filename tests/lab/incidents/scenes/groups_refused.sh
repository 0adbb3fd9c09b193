# ticket: Since the price reader at 10.9.9.2 was restarted with its new list of feeds, 239.9.1.3 and 239.9.1.4 are dead there; at 10.9.9.3, not restarted, they tick. It logs no error.
# planted: The new list begins with two new groups, and a socket at 10.9.9.2 may join 4 (net.ipv4.igmp_max_memberships): the last two are refused, which the reader takes no notice of.
# first: 239.9.1.3
# first: 239.9.1.4
# first: igmp_max_memberships
# first: 10.9.9.2
# page: 10.9.9.3
plant() {
    third
    router ip link add br0 type bridge mcast_snooping 0 || cannot "no bridge"
    router ip addr add 10.9.9.254/24 dev br0
    for n in rc rs rd; do router ip link set "$n" master br0; done
    router ip link set br0 up
    client ip addr add 10.9.9.1/24 dev c0
    server ip addr add 10.9.9.2/24 dev s0
    other ip addr add 10.9.9.3/24 dev d0
    # One address each, by which it is named.
    client ip addr del 10.9.1.2/24 dev c0
    server ip addr del 10.9.2.2/24 dev s0
    other ip addr del 10.9.3.2/24 dev d0
    client ip route add 239.9.0.0/16 dev c0
    server sysctl -qw net.ipv4.igmp_max_memberships=4 || cannot "no limit of memberships"
    serve server groups 7300 groups=1,2,3,4 at=10.9.9.2
    serve other groups 7300 groups=1,2,3,4 at=10.9.9.3
}
traffic() {
    ask streams 239.9.1.1 7300 9 groups=6 &
    sleep 4
    ip netns pids "$id-server" | xargs -r kill
    sleep 0.3
    serve server groups 7300 groups=5,6,1,2,3,4 at=10.9.9.2
    wait %1
}
