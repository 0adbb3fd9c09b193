# ticket: server and other both take the prices that are sent to 239.9.1.1:7300. After some seconds the one at 10.9.9.2 gets none any more; the one at 10.9.9.3 gets all.
# planted: A filter at 10.9.9.2 drops IGMP, so the switch hears no report from there and takes its port from the group after 4 s.
# first: no datagram came
# first: 239.9.1.1:7300
# page: IGMP
plant() {
    third
    router ip link add br0 type bridge mcast_snooping 1 mcast_startup_query_interval 50 mcast_querier 0 mcast_query_interval 100 \
        mcast_query_response_interval 50 mcast_membership_interval 400 mcast_last_member_interval 50 || cannot "no bridge that snoops"
    router ip link set br0 type bridge mcast_querier 1
    router ip addr add 10.9.9.254/24 dev br0
    router ip link set br0 type bridge mcast_query_use_ifaddr 1
    for n in rc rs rd; do router ip link set "$n" master br0; done
    router ip link set br0 up
    client ip addr add 10.9.9.1/24 dev c0
    server ip addr add 10.9.9.2/24 dev s0
    other ip addr add 10.9.9.3/24 dev d0
    client ip route add 239.9.0.0/16 dev c0
    server nft add table ip lab
    server nft add chain ip lab in '{ type filter hook input priority 0; }'
    server nft add rule ip lab in meta l4proto igmp counter drop
    serve other datagrams 7300 group=239.9.1.1 at=10.9.9.3
    # The switch does not forward by groups before it has been the querier for a while.
    sleep 3
    serve server datagrams 7300 group=239.9.1.1 at=10.9.9.2
}
traffic() { ask datagrams 239.9.1.1 7300 11; }
