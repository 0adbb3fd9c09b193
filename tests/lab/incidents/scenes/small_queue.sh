# ticket: A transfer to 10.9.2.2:5201 does not reach the 30 Mbit/s of the line.
# planted: The router's tbf at rs has room for 20 kB only and drops bursts.
# first: QDISC_DROP
# first: rs (qdisc tbf)
plant() {
    router tc qdisc add dev rs root tbf rate 30mbit burst 16kbit limit 20000
    client ethtool -K c0 tso off gso off
    iperf_server 5201
}
traffic() { client timeout 6 iperf3 -c 10.9.2.2 -t 3 -C cubic; }
