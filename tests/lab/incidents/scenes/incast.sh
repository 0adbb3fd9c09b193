# ticket: A search that asks twelve index nodes takes 200 ms every now and then in place of 20; each node answers at once, and the port is loaded to a fifth.
# planted: The client asks twelve addresses at once for 36 kB each, which the router's queue (200 Mbit/s, 64 kB) has no room for together.
# first: incast
# first: of the 12 hosts that lost some on their way to 10.9.1.2
plant() {
    for n in $(seq 20 31); do server ip addr add 10.9.2.$n/24 dev s0; done
    router tc qdisc add dev rc root tbf rate 200mbit burst 16kb limit 64kb
    serve server echo 7446
}
traffic() { ask fan 10.9.2.20 7446 4; }
