# kind: pair
# ticket: Pages of 200 kB of 10.9.2.2:7640 take half a second since the line's new contract, it has as many Mbit/s as before.
# planted: After, the class of the pages in the router's htb at rc has 4 Mbit/s in place of 16, and may not borrow.
# first: Worse
# first: 10.9.2.2:7640
# page: qdisc classes | ceil
plant() {
    local rate=16mbit
    [ "$side" = after ] && rate=4mbit
    router tc qdisc add dev rc root handle 1: htb default 20
    router tc class add dev rc parent 1: classid 1:10 htb rate 20mbit burst 16kb
    router tc class add dev rc parent 1: classid 1:20 htb rate $rate ceil $rate burst 16kb
    server ethtool -K s0 tso off gso off
    serve server echo 7640
}
traffic() { ask requests 10.9.2.2 7640 6 down=200000 gap=0.2; }
