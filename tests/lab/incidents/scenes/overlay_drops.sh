# ticket: Calls of pod 10.244.1.2 to 10.244.2.2:7301 now and then take 200 ms and more.
# planted: A rule of the router drops one in 25 of what the nodes' VXLAN sends.
# first: NETFILTER_DROP
# first: 10.244.2.2:7301
# first: VXLAN | flannel.1
plant() {
    overlay
    serve service echo 7301
    rule ip daddr 10.9.2.2 udp dport 8472 numgen inc mod 25 == 0 counter drop
}
traffic() { pod python3 "$here/traffic.py" requests 10.244.2.2 7301 5 gap=0.02; }
