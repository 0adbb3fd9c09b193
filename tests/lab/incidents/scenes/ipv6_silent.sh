# ticket: Each call to 10.9.2.2:7215 takes 300 ms longer since the new router.
# planted: The client tries IPv6 first; the router drops these SYNs silently; after 300 ms it takes IPv4.
# first: NETFILTER_DROP
# first: SYNs to [fd09:2::2]:7215
plant() {
    ipv6
    serve server echo 7215 address=::
    router nft add table ip6 lab
    router nft add chain ip6 lab forward '{ type filter hook forward priority 0; }'
    router nft add rule ip6 lab forward tcp dport 7215 counter drop
}
traffic() { ask eyeballs 10.9.2.2 7215 3 v6=fd09:2::2; }
