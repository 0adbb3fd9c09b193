# kind: pair
# ticket: Since the new host profile exports of 10.9.2.2:7550 take 440 ms, they took 50; small answers are as quick as ever.
# planted: net.ipv4.tcp_wmem of the server is 4096 16384 65536 after, and had 4 MB at most before; the path is 30 ms long.
# first: Worse
# first: 10.9.2.2:7550
# page: tcp_wmem
plant() {
    [ "$side" = after ] && server sysctl -qw net.ipv4.tcp_wmem="4096 16384 65536"
    serve server app 7550 takes=99999:0.002,9999999:0.005 task=exports
    delay 15
}
traffic() {
    ask users 10.9.2.2 7550 9 kinds=order:1:150-300:400-900 threads=4 gap=0.15 &
    ask users 10.9.2.2 7550 9 kinds=export:1:150-300:600000-700000 threads=3 gap=0.4
    wait
}
