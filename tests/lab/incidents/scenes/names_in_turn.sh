# ticket: Each job needs a second before it calls 10.9.2.2:7341, and that service answers in less than a millisecond.
# planted: Its resolver has a search list: five questions to 10.9.2.3, one after the other, and for the fourth the name server asks 10.9.3.2, which takes 150 ms.
# first: 10.9.2.3:53
# first: 5 times, one after the other
# page: 10.9.3.2:53
plant() {
    third
    server ip addr add 10.9.2.3/32 dev s0
    router ip route add 10.9.2.3 dev rs
    serve server echo 7341
    other python3 "$here/traffic.py" serve resolver 53 pause=0.15 &
    server python3 "$here/traffic.py" serve resolver 53 address=10.9.2.3 to=10.9.3.2 &
    sleep 0.4
}
traffic() { ask searches 10.9.2.2 7341 4 resolver=10.9.2.3; }
