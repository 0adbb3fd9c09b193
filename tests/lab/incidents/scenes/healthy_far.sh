# kind: healthy
# ticket: Please look whether all is well: one branch says that everything is slow.
# planted: Nothing: one client lives 20 ms away, the other is near.
# never: Something is wrong
# never: on the way
# page: took long alike
plant() {
    third
    serve server echo 7424
    path 20
    router ip route add default dev tun0 table 100
    router ip rule add iif rd lookup 100 pref 10
    router ip rule add iif rs to 10.9.3.2 lookup 100 pref 11
}
traffic() {
    other python3 "$here/traffic.py" requests 10.9.2.2 7424 6 gap=0.02 threads=2 &
    ask requests 10.9.2.2 7424 6 gap=0.02 threads=2
    wait
}
