# ticket: 10.9.2.130:7331 cannot be reached: it hangs, and now and then there is "No route to host". 10.9.2.2:7331, on the same server, works.
# planted: A more specific route at the router, `prohibit 10.9.2.128/25`; most of its ICMP messages are held back by their rate limit.
# first: 10.9.2.130:7331
# first: prohibit
# first: route of this host
# first: administratively prohibited
plant() {
    server ip addr add 10.9.2.130/32 dev s0
    router ip route add prohibit 10.9.2.128/25
    serve server echo 7331
}
traffic() {
    ask requests 10.9.2.130 7331 3.2 new=1 gap=0.1 timeout=2.5 threads=2 &
    ask requests 10.9.2.2 7331 3.2 new=1 gap=0.1
    wait
}
