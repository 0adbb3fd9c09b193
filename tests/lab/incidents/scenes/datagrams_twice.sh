# ticket: The receiver at 10.9.2.2:7222 (UDP) counts some messages twice.
# planted: A rule at the router duplicates each tenth datagram.
# first: twice | duplicate | copies
plant() {
    router nft add table ip lab
    router nft add chain ip lab prerouting '{ type filter hook prerouting priority -300; }'
    router nft add rule ip lab prerouting iifname rc udp dport 7222 numgen inc mod 10 4 counter dup to 10.9.2.2 device rs || cannot "no dup in nft"
    serve server datagrams 7222
}
traffic() { ask datagrams 10.9.2.2 7222 3; }
