# kind: harmless
# ticket: While the nightly copy to 10.9.3.2 runs, 10.9.2.2 sends hundreds of segments again. Do the users of the shop at 10.9.1.1:7511 suffer?
# planted: No: after, 10.9.2.2 copies to 10.9.3.2:7513 over a line of 16 Mbit/s of its own, whose short queue drops; the shop and 10.9.2.2:7514 answer as before.
# never: Worse
# never: Better
plant() {
    third
    router tc qdisc add dev rd root tbf rate 16mbit burst 8kb limit 15000
    serve server app 7512 takes=1000:0.003,99999:0.015 task=stock
    serve server app 7514 takes=99999:0.008 task=search
    serve router pool 7511 to=10.9.2.2:7512 size=10 task=shop
    other iperf3 -s -1 -p 7513 > /dev/null &
    sleep 0.4
}
traffic() {
    if [ "$side" = after ]; then server timeout 10 iperf3 -c 10.9.3.2 -p 7513 -t 7 -C cubic & fi
    ask users 10.9.2.2 7514 8 kinds=search:1:100-200:300-3000 threads=4 gap=0.15 &
    ask users 10.9.1.1 7511 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=6 gap=0.15
    wait
    router tc -s qdisc show dev rd
    server nstat -as | grep Retrans
}
