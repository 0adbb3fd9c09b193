# ticket: The copy at 10.9.1.2 of the store 10.9.2.2:7612 is never complete, and the line between them is always full.
# planted: The store cuts a reader off whose socket is still full after 1.2 s; a copy takes 8 s on a line of 40 Mbit/s, and each attempt begins anew.
# first: 10.9.2.2:7612
# first: cut off 10.9.1.2
# first: in the middle of
plant() {
    serve server copies 7612 limit=1.2 task=store
    router tc qdisc add dev rc root tbf rate 40mbit burst 64k latency 60ms
}
traffic() { ask copies 10.9.2.2 7612 8; }
