# ticket: The upload to 10.9.2.2:7226 makes 4 Mbit/s on a line of some hundred; not one packet is lost or sent again.
# planted: A rule at the router sets ECN's CE mark on each 60th packet, though no queue is there; the path is 20 ms long, cubic.
# first: ECN
# first: CE mark | marks | marked
# page: without loss | no loss | without a loss
plant() {
    client ethtool -K c0 tso off gso off
    client sysctl -qw net.ipv4.tcp_ecn=1
    serve server sink 7226
    delay 10
    rule oifname rs ip ecn ect0 numgen inc mod 60 7 counter ip ecn set ce
}
traffic() { ask bulk 10.9.2.2 7226 3 congestion=cubic; }
