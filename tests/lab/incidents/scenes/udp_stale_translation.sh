# ticket: Logins by one of two portals fail after their time-outs; the other portal asks the same service 10.96.0.11:7451 (UDP) and is answered.
# planted: One program has sent from its one port since before the node translated the service's address: connection tracking has its entry without a translation, and keeps it.
# first: 10.96.0.11:7451
# first: none of
# first: translated on the way
# page: conntrack
plant() {
    command -v conntrack > /dev/null || cannot "no conntrack"
    overlay
    router ip route add blackhole 10.96.0.0/16
    client nft add table ip services
    client nft add chain ip services pre '{ type nat hook prerouting priority -100; }'
    # Connections are tracked from the first rule that translates any.
    client nft add rule ip services pre ip daddr 10.96.0.12 udp dport 7451 dnat to 10.244.2.2
    serve service datagrams 7451 answer=60
    pod timeout 14 python3 "$here/traffic.py" asks 10.96.0.11 7451 13 source=21812 gap=0.1 timeout=0.4 > /dev/null &
    for _ in $(seq 50); do
        client conntrack -L -p udp --dport 7451 2> /dev/null | grep -q 21812 && break
        sleep 0.1
    done
    client nft add rule ip services pre ip daddr 10.96.0.11 udp dport 7451 dnat to 10.244.2.2
}
traffic() { pod python3 "$here/traffic.py" names 10.96.0.11 7451 6; }
