# ticket: At 10.9.1.2 everything to 10.9.2.2:7413 stalled for two seconds, and went on by itself; no log says why.
# planted: For 1.8 s the router has a route to 10.9.2.2 by a device (tun1) behind which nobody is.
# first: tun1
# first: another way
# first: sent again | retransmitted
plant() {
    path 60000 tun1
    serve server echo 7413
}
traffic() {
    ask requests 10.9.2.2 7413 6 gap=0.03 threads=4 &
    sleep 2
    router ip route add 10.9.2.2/32 dev tun1
    sleep 1.8
    router ip route del 10.9.2.2/32 dev tun1
    wait
}
