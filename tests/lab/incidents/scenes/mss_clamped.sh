# kind: pair
# ticket: With the new box in the line a transfer to 10.9.2.2:7206 makes 4.4 Mbit/s instead of 5.8.
# planted: After, the router sets the MSS of SYNs to 200; headers eat a quarter of the line, which is as fast as before.
# first: worse | changed
# page: MSS | segment size | payload
plant() {
    router tc qdisc add dev rs root tbf rate 6mbit burst 8kb limit 40000
    if [ "$side" = after ]; then rule 'tcp flags & (syn | rst) == syn' tcp option maxseg size set 200 counter; fi
    iperf_server 7206
}
traffic() { client timeout 6 iperf3 -c 10.9.2.2 -p 7206 -t 3 -C cubic; }
