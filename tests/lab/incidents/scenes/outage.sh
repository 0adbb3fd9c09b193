# ticket: The provider admits an outage of one second. Our upload to 10.9.2.2:7336 stalled for two. Is he lying?
# planted: For 1.05 s rules at the router drop both directions; TCP's timer, doubled meanwhile, fires late.
# first: an nftables rule or policy
# first: all from
plant() {
    delay 10
    router tc qdisc add dev rs root tbf rate 20mbit burst 16kb limit 120000
    serve server sink 7336
    rule counter
}
traffic() {
    (
        sleep 1.2
        rule ip daddr 10.9.2.2 counter drop
        rule ip saddr 10.9.2.2 counter drop
        sleep 1.05
        router nft flush chain ip lab forward
    ) &
    ask bulk 10.9.2.2 7336 4.8 congestion=cubic
    wait
}
