# kind: harmless
# ticket: It is the last day of the month, and the front at 10.9.1.1:7508 answers slower than last week, on average. Is something broken?
# planted: Nothing: 40 % of the requests are reports, in place of 8 %; these always took 60 ms, the others 1. Sizes of requests and answers are random.
# never: Worse
# never: Better
plant() {
    serve server app 7509 takes=1000:0.001,99999:0.06 task=ledger
    serve router pool 7508 to=10.9.2.2:7509 size=12 task=front
}
traffic() {
    local kinds=light:92:150-400:200-900,heavy:8:150-400:20000-60000
    [ "$side" = after ] && kinds=light:60:150-400:200-900,heavy:40:150-400:20000-60000
    ask users 10.9.1.1 7508 8 kinds=$kinds threads=10 gap=0.12
}
