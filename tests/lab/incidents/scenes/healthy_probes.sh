# kind: healthy
# ticket: The router counts ten packets a second whose TTL ran out. Have we a routing loop?
# planted: A route monitor at 10.9.3.2 sends UDP probes with TTL 1 and 2 and waits for none; users' calls go well.
# never: Something is wrong
# never: routing loop
plant() {
    third
    serve server echo 7333
}
traffic() {
    other python3 "$here/traffic.py" probes 10.9.2.2 33434 3 &
    ask requests 10.9.2.2 7333 3 gap=0.01
    wait
}
