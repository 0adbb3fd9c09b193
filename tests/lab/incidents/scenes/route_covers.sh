# ticket: Since some seconds 10.9.1.2 gets no answer from 10.9.2.2:7126 any more, and everybody else does. On that server a new stack of containers has just been started.
# planted: From 3 s on the server has a bridge, br9, whose network 10.9.1.0/24 is the client's, too: it looks for 10.9.1.2 there.
# first: 10.9.1.2
# first: looked for on br9
# first: 10.9.1.0/24 dev br9
plant() {
    third
    serve server echo 7126
}
traffic() {
    ask requests 10.9.2.2 7126 9 new=1 gap=0.05 threads=4 timeout=1.5 &
    other python3 "$here/traffic.py" requests 10.9.2.2 7126 9 new=1 gap=0.05 threads=2 &
    sleep 3
    server ip link add br9 type bridge
    server ip link add v9 type veth peer name w9
    server ip link set v9 master br9
    for n in w9 v9 br9; do
        server ip link set "$n" up
    done
    server ip addr add 10.9.1.1/24 dev br9
    wait
}
