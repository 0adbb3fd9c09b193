# ticket: A third of the datagrams for 10.9.2.2:7223 never arrives.
# planted: The client's own qdisc at c0 (tbf, 2 Mbit/s, 6 kB) drops the end of each burst.
# first: QDISC_DROP
# first: c0 (qdisc tbf)
# first: UDP
plant() {
    client tc qdisc add dev c0 root tbf rate 2mbit burst 2kb limit 6000
    serve server datagrams 7223
}
traffic() { ask datagrams 10.9.2.2 7223 3 size=500 gap=0.1 burst=20; }
