# ticket: Half of the lookups of pod 10.244.1.2 at the service 10.96.0.10:7452 (UDP) time out; other pods' never.
# planted: One of the service's two pods is beside the client on its node's bridge, which hands answers directly to it, untranslated (bridge-nf-call-iptables is 0).
# first: 10.96.0.10:7452
# first: NO_SOCKET
# first: translat
plant() {
    overlay
    beside
    client sysctl -qw net.bridge.bridge-nf-call-iptables=0 2> /dev/null || cannot "no br_netfilter"
    client nft add table ip services
    client nft add chain ip services pre '{ type nat hook prerouting priority -100; }'
    client nft add rule ip services pre ip daddr 10.96.0.10 udp dport 7452 dnat to numgen inc mod 2 map '{ 0 : 10.244.1.3, 1 : 10.244.2.2 }'
    serve other datagrams 7452 answer=60
    serve service datagrams 7452 answer=60
}
traffic() { pod python3 "$here/traffic.py" names 10.96.0.10 7452 8 gap=0.1; }
