# ticket: Small calls of the pod to 10.244.2.2 work, an upload to 7303 hangs for ever.
# planted: The pods' MTU is 1500, as the nodes' own; the tunnel does not let fragment (df set), and the node drops the ICMP messages that say so.
# first: path MTU black hole
# first: 10.244.2.2:7303
# page: flannel.1
plant() {
    overlay 1500 set
    pod nft add table ip lab
    pod nft add chain ip lab input '{ type filter hook input priority 0; }'
    pod nft add rule ip lab input icmp type destination-unreachable counter drop
    serve service sink 7303
}
traffic() { pod timeout 4 python3 "$here/traffic.py" bulk 10.244.2.2 7303 3; }
