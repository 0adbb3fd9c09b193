# ticket: Calls over the proxy 10.9.1.1:7113 take 25 ms now and then; the server behind it answers in 0.2.
# planted: The proxy's only thread sleeps 25 ms before each eighth request.
# first: in the server
# first: asleep in clock_nanosleep
plant() {
    serve server echo 7163
    serve router proxy 7113 to=10.9.2.2:7163 pause=0.025 every=8
}
traffic() { ask requests 10.9.1.1 7113 3 threads=2; }
