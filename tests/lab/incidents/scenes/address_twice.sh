# ticket: From one second to the next all calls of 10.9.2.100:7453 are refused ("connection refused"); the service runs and its log is silent.
# planted: At 1.5 s another host comes up with 10.9.2.100, by mistake, and announces it; nothing listens there.
# first: 10.9.2.100:7453
# first: refused
# first: another host than before
plant() {
    beside_server
    server ip addr add 10.9.2.100/32 dev s0
    serve server echo 7453
}
traffic() {
    ask requests 10.9.2.100 7453 6 new=1 gap=0.05 timeout=2 &
    sleep 1.5
    other ip addr add 10.9.2.100/32 dev d0
    other python3 "$here/traffic.py" announce 10.9.2.100 0 1 device=d0
    wait
}
