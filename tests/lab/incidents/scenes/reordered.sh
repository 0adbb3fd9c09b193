# ticket: Uploads to 10.9.2.2:7209 are slower than on the old line, and `ss` shows retransmissions, but nobody drops.
# planted: Packets go by turns over two paths, of 10 and 20 ms: what is sent again had arrived.
# first: sent again | retransmitted
# page: DSACK | had already
plant() {
    client ethtool -K c0 tso off gso off
    client sysctl -qw net.ipv4.tcp_no_metrics_save=1
    delay 10
    path 20 tun1
    router ip route add default dev tun1 table 101
    router ip rule add iif rc fwmark 2 lookup 101 pref 9
    router nft add table ip lab
    router nft add chain ip lab prerouting '{ type filter hook prerouting priority -150; }'
    router nft add rule ip lab prerouting iifname rc numgen inc mod 2 1 counter meta mark set 2
    serve server echo 7209
}
traffic() { ask requests 10.9.2.2 7209 3 up=200000 down=1 gap=0.1 new=1 congestion=cubic; }
