# kind: pair
# ticket: Calls over the proxy 10.9.1.1:7224 take 40 ms since its update, before 8; the service behind it says that it is as fast as ever.
# planted: The proxy's pool has 1 connection to the service, 10.9.2.2:7264, in place of 6.
# first: 10.9.2.2:7264
# first: one at a time
# page: take longer
plant() {
    serve server echo 7264 pause=0.008
    serve router pool 7224 to=10.9.2.2:7264 size="$([ "$side" = after ] && echo 1 || echo 6)"
}
traffic() { ask requests 10.9.1.1 7224 3 threads=6 gap=0.01; }
