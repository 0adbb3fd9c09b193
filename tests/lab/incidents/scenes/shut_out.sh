# ticket: Since some seconds nobody at 10.9.1.2 reaches 10.9.2.2:7123 any more. Everybody else does, and nothing is in its log.
# planted: The server's packet filter, whose set of banned addresses gets 10.9.1.2 at 3 s.
# first: NETFILTER_DROP
# first: none of 10.9.1.2 got through
# first: of others did
plant() {
    third
    serve server echo 7123
    server nft add table inet lab || cannot "no nftables"
    server nft add set inet lab banned '{ type ipv4_addr; }'
    server nft add chain inet lab input '{ type filter hook input priority 0; }'
    server nft add rule inet lab input ip saddr @banned drop
}
traffic() {
    ask requests 10.9.2.2 7123 8 new=1 gap=0.05 threads=4 timeout=1.5 &
    other python3 "$here/traffic.py" requests 10.9.2.2 7123 8 new=1 gap=0.05 threads=2 &
    sleep 3
    server nft add element inet lab banned '{ 10.9.1.2 }'
    wait
}
