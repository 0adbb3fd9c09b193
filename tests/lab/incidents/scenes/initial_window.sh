# ticket: Pages of 30 kB from 10.9.2.2:7225, a new connection each, take 110 ms since the new image; before, 68. Nothing is lost.
# planted: The server's default route has initcwnd 1; the path is 20 ms long.
# first: initcwnd | congestion window of 1 segment
# first: 10.9.2.2:7225
plant() {
    server sysctl -qw net.ipv4.tcp_no_metrics_save=1
    server ip route change default via 10.9.2.1 initcwnd 1
    serve server echo 7225
    delay 10
}
traffic() { ask requests 10.9.2.2 7225 3 new=1 down=30000 gap=0.05; }
