# kind: pair
# ticket: Since they hardened 10.9.2.2 uploads to 10.9.2.2:7553 take 380 ms, they took 50; small requests are as quick as ever.
# planted: net.ipv4.tcp_window_scaling of the server is 0 after, 1 before; the path is 30 ms long, at most 65,535 bytes are on the way.
# first: Worse
# first: 10.9.2.2:7553
# page: window scaling | tcp_window_scaling
plant() {
    [ "$side" = after ] && server sysctl -qw net.ipv4.tcp_window_scaling=0
    serve server app 7553 takes=99999:0.002 task=files
    delay 15
}
traffic() {
    ask users 10.9.2.2 7553 9 kinds=order:1:150-300:400-900 threads=4 gap=0.15 &
    ask users 10.9.2.2 7553 9 kinds=upload:1:700000-800000:200 threads=3 gap=0.4
    wait
}
