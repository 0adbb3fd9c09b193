# kind: pair
# ticket: Calls over the proxy 10.9.1.1:7391 take 1 s and many fail since its new settings, before 62 ms and none; nobody calls more often than before.
# planted: The proxy waits 300 ms in place of 10 s for its two servers, and asks up to three times; one call in five takes 400 ms, and each of these is worked on three times.
# first: gives up requests to 10.9.2.2:739
# first: the time-out is new
# first: take longer
plant() {
    serve server queue 7392 pause=0.06 slow_for=0 large=1000 long=0.4
    serve server queue 7393 pause=0.06 slow_for=0 large=1000 long=0.4
    serve router retries 7391 to=10.9.2.2:7392,10.9.2.2:7393 \
        timeout="$([ "$side" = after ] && echo 0.3 || echo 10)" tries="$([ "$side" = after ] && echo 3 || echo 1)"
}
traffic() { ask storm 10.9.1.1 7391 4 rate=40 timeout=6 tries=1 each=5; }
