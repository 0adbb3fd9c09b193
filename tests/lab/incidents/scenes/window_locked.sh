# ticket: Pages of 100 kB from 10.9.2.2:7639 take 400 ms, they took 80; small ones are as quick as ever, and nothing is lost.
# planted: The server's default route has `cwnd lock 4`: more than 4 segments may not be under way; the path is 20 ms long.
# first: 10.9.2.2:7639
# first: congestion window
# first: cwnd 4
plant() {
    server ip route change default via 10.9.2.1 cwnd lock 4
    server sysctl -qw net.ipv4.tcp_congestion_control=cubic
    serve server echo 7639
    delay 10
    # The kernel asks the route for its metrics when a connection ends: the next ones have them.
    ask requests 10.9.2.2 7639 0.5 new=1 down=100000 > /dev/null
}
traffic() { ask requests 10.9.2.2 7639 6 down=100000 gap=0.02 threads=2; }
