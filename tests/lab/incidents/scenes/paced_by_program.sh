# kind: pair
# ticket: The upload to 10.9.2.2:7223 makes 24 Mbit/s since the new release, before 57; the line has not changed.
# planted: After, the client sets SO_MAX_PACING_RATE to 3 MB/s; the line has 60 Mbit/s and 10 ms in both.
# first: slower
# first: pacing
# page: Worse in
plant() {
    router tc qdisc add dev rs root tbf rate 60mbit burst 32kb limit 200000
    serve server sink 7223
    delay 5
}
traffic() { ask bulk 10.9.2.2 7223 3 congestion=bbr pace="$([ "$side" = after ] && echo 3000000 || echo 0)"; }
