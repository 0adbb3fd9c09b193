# ticket: Orders to 10.9.9.2:7464 hung for more than six seconds, though the switch says that its port was away for less than four.
# planted: The bridge's port rs is down from 1 to 4.4 s. Meanwhile the segments are flooded to 10.9.9.3; then the client's doubled retransmission timer is waited for.
# first: rs
# first: carrier
# page: stalled
# page: retransmission timer
plant() {
    third
    router ip link add br0 type bridge
    for n in rc rs rd; do
        router ip addr flush dev "$n"
        router ip link set "$n" master br0
    done
    router ip link set br0 up
    client ip addr add 10.9.9.1/24 dev c0
    server ip addr add 10.9.9.2/24 dev s0
    other ip addr add 10.9.9.3/24 dev d0
    serve server echo 7464
    serve other echo 7464
    ask requests 10.9.9.2 7464 0.1
    client ip neigh replace 10.9.9.2 lladdr "$(server cat /sys/class/net/s0/address)" dev c0
    server ip neigh replace 10.9.9.1 lladdr "$(client cat /sys/class/net/c0/address)" dev s0
}
traffic() {
    (
        sleep 1
        router ip link set rs down
        sleep 3.4
        router ip link set rs up
    ) &
    ask requests 10.9.9.2 7464 9 gap=0.02 timeout=20 threads=2 &
    ask requests 10.9.9.3 7464 9 gap=0.05
    wait
}
