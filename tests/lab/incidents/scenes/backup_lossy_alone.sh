# kind: harmless
# ticket: The copy from 10.9.2.2 to 10.9.3.2:7517 loses packets since the provider changed the line. Does anybody suffer?
# planted: Nobody: the line drops what exceeds 12 Mbit/s, where it queued that before; the copy is sent again in part, and is as fast. The shop's answers are as before.
# never: Worse
# never: Better
plant() {
    third
    serve server app 7518 takes=1000:0.003,99999:0.015 task=stock
    serve router pool 7516 to=10.9.2.2:7518 size=10 task=shop
    if [ "$side" = after ]; then
        rule tcp dport 7517 limit rate over 1300 kbytes/second burst 40 kbytes counter drop
    else
        router tc qdisc add dev rd root tbf rate 12mbit burst 16kb limit 400000
    fi
    other iperf3 -s -1 -p 7517 > /dev/null &
    sleep 0.4
}
traffic() {
    server timeout 10 iperf3 -c 10.9.3.2 -p 7517 -t 7 -C bbr &
    ask users 10.9.1.1 7516 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=8 gap=0.12
    wait
    server nstat -as | grep Retrans
}
