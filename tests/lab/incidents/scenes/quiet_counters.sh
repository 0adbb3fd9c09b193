# kind: harmless
# ticket: The new host profile changed queues, settings and a counting rule. Does any of it hurt?
# planted: No: htb of 1 Gbit/s in place of a short pfifo at the router, sysctls of what nobody does here, a rule that only counts. All answers are as before.
# never: Worse
# never: Better
plant() {
    third
    serve server app 7532 takes=1000:0.004,99999:0.015 task=shop
    serve other app 7533 takes=99999:0.008 task=mail
    if [ "$side" = after ]; then
        router tc qdisc add dev rs root handle 1: htb default 1
        router tc class add dev rs parent 1: classid 1:1 htb rate 1gbit
        for n in client server; do
            "$n" sysctl -qw net.ipv4.tcp_keepalive_time=600 net.ipv4.tcp_fin_timeout=20 net.core.somaxconn=1024
        done
        rule tcp dport 7532 counter
    else
        router tc qdisc add dev rs root pfifo limit 500
    fi
}
traffic() {
    ask users 10.9.3.2 7533 8 kinds=mail:1:400-2000:200 threads=3 gap=0.15 &
    ask users 10.9.2.2 7532 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=8 gap=0.13
    wait
}
