# kind: healthy
# ticket: The copies at 10.9.1.2 of the store 10.9.2.2:7613 are made again and again, and the line is full meanwhile. Is that a loop?
# planted: Nothing: copies of 6 MB one after the other, each whole, over a line of 40 Mbit/s; another reader has enough after 1 MB.
# never: Something is wrong
# never: cut off
plant() {
    serve server copies 7613 size=6000000 task=store
    router tc qdisc add dev rc root tbf rate 40mbit burst 64k latency 60ms
}
traffic() {
    ask copies 10.9.2.2 7613 8 gap=0.1 &
    ask copies 10.9.2.2 7613 8 gap=0.9 leaves=1000000
    wait
}
