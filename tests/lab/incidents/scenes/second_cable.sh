# ticket: For three seconds everything in 10.9.9.0/24 stalled, 10.9.9.1 to 10.9.9.2 and everybody else, and then came back by itself.
# planted: A second cable, up2a to up2b, lies between two bridges without a spanning tree from 2.5 s to 5.5 s; a host announces itself by broadcast four times a second.
# first: a loop of bridges
# first: up2
# page: nothing went by up2
plant() {
    third
    for n in br0 br1; do
        router ip link add "$n" type bridge
    done
    for n in 1 2; do
        router ip link add "up${n}a" type veth peer name "up${n}b"
        router ip link set "up${n}a" master br0
        router ip link set "up${n}b" master br1
        # What circles takes no more than this.
        router tc qdisc add dev "up${n}a" root tbf rate 3mbit burst 4000 limit 20000
        router tc qdisc add dev "up${n}b" root tbf rate 3mbit burst 4000 limit 20000
    done
    for n in rc:br0 rd:br0 rs:br1; do
        router ip addr flush dev "${n%:*}"
        router ip link set "${n%:*}" master "${n#*:}"
    done
    for n in br0 br1 up1a up1b; do
        router ip link set "$n" up
    done
    client ip addr add 10.9.9.1/24 dev c0
    server ip addr add 10.9.9.2/24 dev s0
    other ip addr add 10.9.9.3/24 brd + dev d0
    serve server echo 7122
    ask requests 10.9.9.2 7122 0.1
}
traffic() {
    (
        sleep 2.5
        router ip link set up2a up
        router ip link set up2b up
        sleep 3
        router ip link set up2a down
        router ip link set up2b down
    ) &
    other timeout 9 python3 - << 'PY' &
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for _ in range(32):
    s.sendto(b"here" * 30, ("10.9.9.255", 17500))
    time.sleep(0.25)
PY
    ask requests 10.9.9.2 7122 8 gap=0.03 threads=3 new=1 timeout=4
    wait
}
