# ticket: Small calls to 10.9.2.2 work, an upload to 7008 hangs for ever.
# planted: The way behind the router takes 1200 bytes, and the ICMP messages that say so are dropped.
# first: path MTU black hole
plant() {
    router ip link set rs mtu 1200
    router nft add table ip lab
    router nft add chain ip lab output '{ type filter hook output priority 0; }'
    router nft add rule ip lab output icmp type destination-unreachable counter drop
    serve server sink 7008
}
traffic() { client timeout 4 python3 "$here/traffic.py" bulk 10.9.2.2 7008 3; }
