# ticket: Pages of 60 kB from 10.9.2.2:7476 never arrive, small ones and pings do; all MTUs are 1500.
# planted: The router's tbf towards the clients has a burst of 1500 bytes: it refuses every full frame, of 1514.
# first: by their size, not for want of room
# first: its burst is 1500 bytes
# first: 10.9.2.2:7476
plant() {
    serve server echo 7476
    router tc qdisc add dev rc root tbf rate 50mbit burst 1500 latency 50ms
}
traffic() {
    ask requests 10.9.2.2 7476 6 gap=0.02 &
    ask requests 10.9.2.2 7476 6 down=60000 new=1 timeout=2 threads=3
    wait
}
