# ticket: Our line to 10.9.2.2:7435 was away for one second. It is back, the router 10.9.1.1 uses it again, and 10.9.1.2 still does not get through; its calls to 10.9.2.3 do.
# planted: Meanwhile 10.9.1.1 sent by way of 10.9.1.254, whose filter forgot these calls, and told 10.9.1.2 to do so by itself (ICMP redirect), which keeps to it for minutes.
# first: redirect
# first: 10.9.2.2:7435
# page: an nftables rule or policy | NETFILTER_DROP
plant() {
    third
    # One LAN of the client, the router and the second gateway, and the spare line of that one to the server, which its filter does not let through.
    router ip addr flush dev rc
    router ip addr flush dev rd
    router ip link add br0 type bridge
    router ip link set rc master br0
    router ip link set rd master br0
    router ip addr add 10.9.1.1/24 dev br0
    router ip link set br0 up
    other ip addr flush dev d0
    other ip addr add 10.9.1.254/24 dev d0
    ip link add d1 netns "$id-other" type veth peer name s1 netns "$id-server"
    address other d1 10.9.4.1/24
    address server s1 10.9.4.2/24
    server ip addr add 10.9.2.3/24 dev s0
    other ip route add 10.9.2.0/24 via 10.9.4.2
    other ip route add default via 10.9.1.1
    other sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.d0.rp_filter=0
    server sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.s1.rp_filter=0 net.ipv4.conf.s0.rp_filter=0
    router sysctl -qw net.ipv4.conf.all.send_redirects=1 net.ipv4.conf.br0.send_redirects=1
    client sysctl -qw net.ipv4.conf.all.accept_redirects=1 net.ipv4.conf.c0.accept_redirects=1
    client ip route replace default via 10.9.1.1
    other nft add table ip lab
    other nft add chain ip lab forward '{ type filter hook forward priority 0; }'
    other nft add rule ip lab forward oifname d1 tcp dport 7435 counter drop
    # A redirect that comes within the call that sent finds the socket in use and is dropped: here the router works in a thread of its own, as if it were another machine.
    client ethtool -K c0 tso off
    router ethtool -K rc gro on
    router sh -c 'echo 1 > /sys/class/net/rc/threaded' || cannot "no threaded NAPI"
    serve server echo 7435
    ask requests 10.9.2.3 7435 0.1
}
traffic() {
    (
        sleep 1
        router ip route add 10.9.2.2/32 via 10.9.1.254
        sleep 1
        router ip route del 10.9.2.2/32
    ) &
    ask requests 10.9.2.3 7435 5 gap=0.02 &
    ask requests 10.9.2.2 7435 5 new=1 gap=0.02 threads=2 timeout=0.5
    client ip route get 10.9.2.2
    other nft list ruleset | grep counter
    wait
}
