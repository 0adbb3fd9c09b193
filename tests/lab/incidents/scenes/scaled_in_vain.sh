# kind: pair
# ticket: Orders at 10.9.9.9:7427 were scaled from one server to two, and are no faster. Is it the address that stands before them?
# planted: Connections are shared out over 10.9.2.2 and, after, 10.9.3.2; the clients keep theirs, of which all were opened to 10.9.2.2.
# first: No difference found
# page: is shared out otherwise
# page: carry
# page: who keeps his own stays where he was
plant() {
    third
    serve server echo 7427 pause=0.004 lock=1
    serve other echo 7427 pause=0.004 lock=1
    router nft add table ip vip
    router nft add chain ip vip pre '{ type nat hook prerouting priority -100; }'
    router nft add rule ip vip pre ip daddr 10.9.9.9 tcp dport 7427 dnat to 10.9.2.2
    ask requests 10.9.9.9 7427 9 gap=0.02 threads=4 &
    sleep 1
    if [ "$side" = after ]; then
        # In one transaction: between two there is no rule that translates, so conntrack lets go of its hooks, and what a server sends meanwhile
        # comes to the client from an address that it never asked, which is answered with a RST.
        router nft -f - <<'RULES'
flush chain ip vip pre
add rule ip vip pre ip daddr 10.9.9.9 tcp dport 7427 dnat to numgen inc mod 2 map { 0 : 10.9.2.2, 1 : 10.9.3.2 }
RULES
    fi
}
traffic() { ask requests 10.9.9.9 7427 4 gap=0.2 new=1 threads=2; }
