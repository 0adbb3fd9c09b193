# ticket: The telemetry loses all its connections to 10.9.2.2:7412 whenever the radio is gone for a moment; other programs keep theirs.
# planted: The program sets TCP_USER_TIMEOUT to 30 ms (30 s were meant); the line swallows all packets for 0.9 s, twice.
# first: ETIMEDOUT
# first: TCP_USER_TIMEOUT
# first: 10.9.2.2:7412
plant() {
    path 60000 tun1
    serve server echo 7412
}
traffic() {
    ask requests 10.9.2.2 7412 6 gap=0.05 threads=3 user_timeout=30 &
    ask requests 10.9.2.2 7412 6 gap=0.05 &
    for _ in 1 2; do
        sleep 1.5
        router ip route add 10.9.2.2/32 dev tun1
        sleep 0.9
        router ip route del 10.9.2.2/32 dev tun1
    done
    wait
}
