# ticket: Live scores arrive in bursts, up to half a second late, once a second; nothing else on that line is slow.
# planted: The feed writes a megabyte each second to the same connection as its small messages; the line has 20 Mbit/s.
# first: head-of-line
# first: 10.9.2.2:7405
# first: own socket
plant() {
    router tc qdisc add dev rc root tbf rate 20mbit burst 32kbit limit 200000
    serve server feed 7405
    serve server echo 7406
    # The feed's connection stands when the recording begins.
    ask feeds 10.9.2.2 7405 12 &
    sleep 1.5
}
traffic() { ask requests 10.9.2.2 7406 6 gap=0.02; }
