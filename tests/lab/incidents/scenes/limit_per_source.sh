# ticket: While a job ran at 10.9.1.2, calls from there to 10.9.2.2:7119 took one or three seconds now and then, and those of other hosts did not. The server is idle, no queue is full.
# planted: The server's packet filter lets each source have 40 connections to that port; the job keeps 39 of them from 2.5 s on, for 4 s.
# first: 10.9.1.2
# first: NETFILTER_DROP
# first: limit of connections per source
plant() {
    third
    serve server echo 7119 pause=0.02
    server nft add table ip lab || cannot "no nftables"
    server nft add set ip lab each '{ type ipv4_addr; flags dynamic; size 1024; }'
    server nft add chain ip lab input '{ type filter hook input priority 0; }'
    server nft add rule ip lab input tcp dport 7119 ct state new add @each '{ ip saddr ct count over 40 }' drop || cannot "no connlimit"
}
traffic() {
    ask requests 10.9.2.2 7119 8 new=1 gap=0.05 threads=8 timeout=6 &
    other python3 "$here/traffic.py" requests 10.9.2.2 7119 8 new=1 gap=0.02 threads=2 &
    sleep 2.5
    ask requests 10.9.2.2 7119 4 threads=39 gap=0.2
    wait
}
