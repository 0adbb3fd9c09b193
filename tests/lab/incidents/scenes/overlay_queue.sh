# ticket: Calls of pod 10.244.1.2 to 10.244.2.2:7302 take 100 ms and more since a copy to the other node runs.
# planted: The copy fills the router's tbf at rs (20 Mbit/s, 250 kB) that both nodes' tunnel crosses.
# first: the queue of rs
# page: 10.244.2.2:7302
plant() {
    overlay
    router tc qdisc add dev rs root tbf rate 20mbit burst 16kbit limit 250000
    serve service echo 7302
    service iperf3 -s -1 -p 5201 > /dev/null &
    sleep 0.4
}
traffic() {
    pod timeout 8 iperf3 -c 10.244.2.2 -t 5 -C cubic > /dev/null &
    sleep 1
    pod python3 "$here/traffic.py" requests 10.244.2.2 7302 3 gap=0.02
    wait
}
