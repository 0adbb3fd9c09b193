# ticket: Calls to 10.9.9.3:7436, which has a 5 Mbit/s line at the switch's port rd, hang again and again since a camera at 10.9.9.1 sends to 10.9.9.2. What has the one to do with the other?
# planted: The switch learns no address at 10.9.9.2's port (learning off), so it sends the camera's 18 Mbit/s out of every port (unknown unicast flood): they fill the queue of rd.
# first: rd
# first: QDISC_DROP | the queue
# first: flood
# page: 10.9.9.3:7436
plant() {
    third
    router ip link add br0 type bridge
    router ip addr add 10.9.9.254/24 dev br0
    for n in rc rs rd; do
        router ip addr flush dev "$n"
        router ip link set "$n" master br0
    done
    router bridge link set dev rs learning off || cannot "no bridge that does not learn"
    router ip link set br0 up
    client ip addr add 10.9.9.1/24 dev c0
    server ip addr add 10.9.9.2/24 dev s0
    other ip addr add 10.9.9.3/24 dev d0
    router bridge fdb flush dev br0 dynamic 2> /dev/null
    router tc qdisc add dev rd root tbf rate 5mbit burst 16kb limit 60000
    serve server datagrams 7300
    serve server echo 7436
    serve other echo 7436
    ask requests 10.9.9.3 7436 0.1
    ask requests 10.9.9.2 7436 0.1
}
traffic() {
    ask datagrams 10.9.9.2 7300 4 size=1400 gap=0.003 burst=5 &
    ask requests 10.9.9.2 7436 4 gap=0.03 &
    ask requests 10.9.9.3 7436 4 gap=0.03 threads=2
    wait
    router bridge fdb show br br0 | grep -v permanent
    router tc -s qdisc show dev rd
}
