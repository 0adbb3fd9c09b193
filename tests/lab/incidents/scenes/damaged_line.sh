# ticket: Pages of 10.9.2.2:7448 stall for 0.2 s and more now and then, those of 10.9.3.2 never; no interface shows an error or a drop.
# planted: What lies between the router and the server's answers damages one bit of each 25th large packet; the receiver's TCP throws it away.
# first: wrong checksum
# first: 10.9.1.2
# first: 10.9.2.2
# first: what lies between these two damages them
plant() {
    third
    path 4 tun0 25
    router ip route add default dev tun0 table 100
    router ip rule add iif rs lookup 100 pref 11
    serve server echo 7448
    serve other echo 7448
}
traffic() {
    ask requests 10.9.3.2 7448 5 down=40000 threads=2 gap=0.02 &
    ask requests 10.9.2.2 7448 5 down=40000 threads=4 gap=0.02
    wait
}
