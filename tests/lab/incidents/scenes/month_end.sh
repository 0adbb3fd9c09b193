# kind: harmless
# ticket: On the last day of the month answers of the front at 10.9.1.1:7505 take long, on average. Is something broken?
# planted: Nothing: 40 % of the requests are invoices, in place of 8 %; these always took 60 ms, the others 1. All requests have the same size.
# never: Worse
# never: Better
plant() {
    serve server app 7506 takes=1000:0.001,99999:0.06 task=ledger
    serve router pool 7505 to=10.9.2.2:7506 size=12 task=front
}
traffic() {
    local kinds=light:92:200:400,heavy:8:200:20000
    [ "$side" = after ] && kinds=light:60:200:400,heavy:40:200:20000
    ask users 10.9.1.1 7505 8 kinds=$kinds threads=10 gap=0.12
}
