# kind: healthy
# ticket: Please look whether all is well.
# planted: Nothing: calls over a router, and a transfer below the line's rate.
# never: Something is wrong
plant() {
    serve server echo 7301
    iperf_server 7302
}
traffic() {
    client timeout 5 iperf3 -c 10.9.2.2 -p 7302 -t 3 -b 20M &
    ask requests 10.9.2.2 7301 3
    wait
}
