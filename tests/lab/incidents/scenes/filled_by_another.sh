# ticket: Calls to 10.9.2.2:7112 take 100 ms now and then, for a second or two. The server is idle.
# planted: 10.9.3.2 fills the router's queue at rs (tbf, 20 Mbit/s, 150 kB) with a transfer for two seconds.
# first: queue of rs (tbf)
# first: 10.9.3.2
plant() {
    third
    router tc qdisc add dev rs root tbf rate 20mbit burst 8kb limit 150000
    serve server echo 7112
    iperf_server 7162
}
traffic() {
    (sleep 1; other timeout 5 iperf3 -c 10.9.2.2 -p 7162 -t 2 -C cubic) &
    ask requests 10.9.2.2 7112 4 gap=0.01
    wait
}
