# ticket: 10.9.8.8:7332, which was moved last night, cannot be reached ("No route to host"); 10.9.2.2:7332 on the same server is fine.
# planted: The router sends 10.9.8.0/24 to the server, which has that address no more, forwards, and sends it back: 31 times until the TTL is used up.
# first: 10.9.8.8:7332
# first: ICMP
# first: routing loop
# first: 31 times
plant() {
    server sysctl -qw net.ipv4.ip_forward=1
    router ip route add 10.9.8.0/24 via 10.9.2.2
    serve server echo 7332
}
traffic() {
    ask requests 10.9.8.8 7332 3 new=1 gap=0.05 timeout=2.5 &
    ask requests 10.9.2.2 7332 3 new=1 gap=0.05
    wait
}
