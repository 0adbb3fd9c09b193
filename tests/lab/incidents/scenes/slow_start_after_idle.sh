# kind: pair
# ticket: Uploads of 400 kB to 10.9.2.2:7208, one a second, take 85 ms since the settings were changed; before, 30.
# planted: tcp_slow_start_after_idle is 1 after, 0 before; the path is 20 ms long.
# first: congestion window | tcp_slow_start_after_idle
# page: tcp_slow_start_after_idle | idle
plant() {
    client sysctl -qw net.ipv4.tcp_no_metrics_save=1
    client sysctl -qw net.ipv4.tcp_slow_start_after_idle="$([ "$side" = after ] && echo 1 || echo 0)"
    serve server echo 7208
    delay 10
}
traffic() { ask requests 10.9.2.2 7208 4.2 up=400000 down=1 gap=0.8 congestion=cubic; }
