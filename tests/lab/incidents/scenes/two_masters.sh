# ticket: One in five requests to 10.9.2.100:7437 ends with `connection reset by peer`; tried again they work.
# planted: From 1.5 s on two hosts hold 10.9.2.100 and announce it by ARP in turns, as two masters of VRRP; each knows its own connections only.
# first: two hosts hold that address
# first: another host of this recording that has 10.9.2.100:7437
plant() {
    beside_server
    server ip addr add 10.9.2.100/32 dev s0
    serve server echo 7437
    serve other echo 7437
}
traffic() {
    ask requests 10.9.2.100 7437 6 gap=0.02 threads=6 timeout=2 &
    sleep 1.5
    other ip addr add 10.9.2.100/32 dev d0
    for _ in 1 2 3; do
        other python3 "$here/traffic.py" announce 10.9.2.100 0 1 device=d0
        sleep 0.7
        server python3 "$here/traffic.py" announce 10.9.2.100 0 1 device=s0
        sleep 0.6
    done
    wait
}
