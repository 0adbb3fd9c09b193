# kind: healthy
# ticket: The line's queue drops packets all day. Does it have to be larger?
# planted: Nothing: three viewers fetch segments of a film over a line of 40 Mbit/s and keep it full; what its queue drops is sent again at once.
# never: Something is wrong
plant() {
    serve server echo 7622
    router tc qdisc add dev rc root tbf rate 40mbit burst 16kb limit 120000
    server ethtool -K s0 tso off gso off
}
traffic() { ask requests 10.9.2.2 7622 6 down=1500000 threads=3 gap=0.01 congestion=cubic; }
