# ticket: The queue at 10.9.2.2:7361 has moved to its standby. Who brings jobs was back after a second; since then nobody takes any, and the takers' log has no error.
# planted: From 3 s on the first host is cut off, without FIN or RST; from 4 s on another has its address. The takers only wait, without a time-out.
# first: half-open | has gone | is gone
# page: 4 connections of python3
plant() {
    third
    serve server jobs 7361
    other ip addr add 10.9.2.2/32 dev lo
    serve other jobs 7361
    rule counter
    ask takers 10.9.2.2 7361 60 &
    sleep 0.5
}
traffic() {
    (
        sleep 3
        rule ip daddr 10.9.2.2 counter drop
        rule ip saddr 10.9.2.2 counter drop
        sleep 1
        router ip route add 10.9.2.2/32 via 10.9.3.2
        router sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.rd.rp_filter=0
        router nft flush chain ip lab forward
    ) &
    ask bringers 10.9.2.2 7361 8
    wait
}
