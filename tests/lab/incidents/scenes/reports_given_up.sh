# kind: pair
# ticket: Since its new settings the proxy 10.9.1.1:7545 answers no report any more, but with an error; orders are well.
# planted: The proxy gives up after 1 s what 10.9.2.2:7546 has not answered; reports take 1.4 s. Before, it waited for them.
# first: Worse
# first: 10.9.2.2:7546 | 10.9.1.1:7545
# first: gives up | given up
plant() {
    serve server app 7546 takes=1000:0.004,99999:1.4 task=books
    serve router pool 7545 to=10.9.2.2:7546 size=16 timeout="$([ "$side" = after ] && echo 1 || echo 0)" task=proxy
}
traffic() {
    ask users 10.9.1.1 7545 10 kinds=order:1:150-300:400-900 threads=6 gap=0.12 &
    ask users 10.9.1.1 7545 10 kinds=report:1:150-300:20000-40000 threads=4 gap=0.6
    wait
}
