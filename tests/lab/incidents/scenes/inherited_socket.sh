# ticket: Reports from 10.9.2.2:7471 take more than a second until the spinner stops; the server's log says 4 ms. Other requests are quick.
# planted: Behind each report the server starts a child that keeps the connection's descriptor for 1.2 s; its clients read until the connection ends.
# first: got no FIN until 1.2
# first: 10.9.2.2:7471
# first: when sleep, which neither read nor sent on them, closed them
plant() {
    serve server echo 7471 once=1 child=1.2
    serve server echo 7472
}
traffic() {
    ask requests 10.9.2.2 7472 6 gap=0.02 &
    ask requests 10.9.2.2 7471 6 down=40000 gap=0.1 new=1 last=1 threads=3
    wait
}
