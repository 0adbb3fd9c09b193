# ticket: Calls to 10.9.2.2:7221 took over 100 ms for two seconds; the line was not full, they say.
# planted: In the router's htb at rs the class of the calls has 16 kbit/s of its own and borrows last; UDP of 10.9.3.2 takes the rest.
# first: queue of rs (htb)
# page: 1:20
plant() {
    third
    router tc qdisc add dev rs root handle 1: htb default 20
    router tc class add dev rs parent 1: classid 1:1 htb rate 8mbit burst 4kb
    router tc class add dev rs parent 1:1 classid 1:10 htb rate 7900kbit ceil 8mbit prio 0
    router tc class add dev rs parent 1:1 classid 1:20 htb rate 16kbit ceil 8mbit prio 3
    router tc filter add dev rs parent 1: protocol ip u32 match ip dport 5004 0xffff flowid 1:10
    serve server datagrams 5004
    serve server echo 7221
}
traffic() {
    (sleep 1; other python3 "$here/traffic.py" datagrams 10.9.2.2 5004 2.2 size=1200 gap=0.0011) &
    ask requests 10.9.2.2 7221 4 gap=0.01
    wait
}
