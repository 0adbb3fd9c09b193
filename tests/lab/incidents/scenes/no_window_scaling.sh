# ticket: 10.9.1.2 to 10.9.2.2:7207 makes 17 Mbit/s on a line of 1 Gbit/s. RTT is 30 ms, no loss.
# planted: The server has window scaling off: at most 65,535 bytes are on the way.
# first: the peer's receive window | window scaling
# page: window scaling
plant() {
    server sysctl -qw net.ipv4.tcp_window_scaling=0
    serve server sink 7207
    delay 15
}
traffic() { ask bulk 10.9.2.2 7207 3; }
