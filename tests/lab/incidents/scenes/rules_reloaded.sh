# ticket: Now and then many clients of the service 10.9.9.9:7441 get "connection reset by peer" in the same moment. Its server says that they reset theirs.
# planted: The router translates 10.9.9.9 to 10.9.2.2. Twice its rules are loaded anew in two steps, a flush and, 60 ms later, the same rules: meanwhile nothing is translated.
# first: not by the peer
# first: 10.9.9.9:7441
# first: from its own address, 10.9.2.2:7441
# first: rules are loaded anew
load() {
    router nft flush chain ip vip pre
    sleep "$1"
    router nft add rule ip vip pre ip daddr 10.9.9.9 tcp dport 7441 dnat to 10.9.2.2
}
plant() {
    serve server echo 7441 pause=0.02
    router nft add table ip vip
    router nft add chain ip vip pre '{ type nat hook prerouting priority -100; }'
    load 0
    # Of different paces: whatever the moment, some wait for an answer then.
    for gap in 0.01 0.017 0.03 0.041; do
        ask requests 10.9.9.9 7441 9 gap=$gap threads=2 &
    done
    sleep 1.5
}
traffic() {
    sleep 1.5
    load 0.06
    sleep 1.5
    load 0.06
    sleep 1.5
}
