# ticket: Copies to 10.9.2.2:7106 are slow, 8 Mbit/s where the line has much more.
# planted: The router polices that port to 1 Mbyte/s, and drops what is above.
# first: NETFILTER_DROP
# first: 10.9.2.2:7106
# first: of them got through
plant() {
    iperf_server 7106
    rule tcp dport 7106 limit rate over 1 mbytes/second burst 24 kbytes counter drop
}
traffic() { client timeout 6 iperf3 -c 10.9.2.2 -p 7106 -t 3 -C cubic; }
