# ticket: The pictures that 10.9.1.2 sends to 10.9.2.2:7433 are more and more late, though its line is idle most of the time and nothing is lost.
# planted: Where its socket takes no more (EAGAIN) the program sleeps half a second, in place of waiting until there is room; the line of 30 Mbit/s empties the send buffer in 60 ms.
# first: in clock_nanosleep when
# first: took no more (EAGAIN)
plant() {
    client tc qdisc add dev c0 root tbf rate 30mbit burst 32kbit limit 800000
    serve server sink 7433
    serve server echo 7434
}
traffic() {
    ask requests 10.9.2.2 7434 6 gap=0.1 threads=1 &
    ask pictures 10.9.2.2 7433 6
    wait
}
