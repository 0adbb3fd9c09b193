# ticket: Calls over the proxy 10.9.1.1:7213 take 40 ms since its update; the service behind it answers in 8, and no host is loaded.
# planted: The proxy has one connection to the service, 10.9.2.2:7263, for its six clients: its threads wait for it.
# first: 10.9.2.2:7263
# first: one connection
# first: lock
plant() {
    serve server echo 7263 pause=0.008
    serve router pool 7213 to=10.9.2.2:7263 size=1
}
traffic() { ask requests 10.9.1.1 7213 3 threads=6 gap=0.01; }
