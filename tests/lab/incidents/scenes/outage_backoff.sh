# ticket: The provider admits an outage of one second; the upload to 10.9.2.2:7231 stalled for two.
# planted: Rules at the router drop everything for 1.05 s, 1.8 s after the traffic began; the sender's timer, doubled each time, runs on after that.
# first: retransmission timer | backoff | backed off
# page: NETFILTER_DROP
plant() {
    delay 10
    router tc qdisc add dev rs root tbf rate 20mbit burst 16kb limit 400000
    serve server sink 7231
    rule counter
}
traffic() {
    (
        sleep 1.8
        router nft insert rule ip lab forward ip daddr 10.9.2.2 counter drop
        router nft insert rule ip lab forward ip saddr 10.9.2.2 counter drop
        sleep 1.05
        router nft flush chain ip lab forward
    ) &
    ask bulk 10.9.2.2 7231 5.5 congestion=cubic
    wait
}
