# ticket: A quarter of the calls to 10.9.2.2:7216 takes 90 ms, and a few take 210 or 300; they should take less than one.
# planted: The server asks a store, 10.9.3.2:5432, for each call, which sleeps 90 ms before each fourth answer; besides, a rule of the router drops each 60th request.
# first: 10.9.3.2:5432
# first: asleep in recvfrom
# first: NETFILTER_DROP
plant() {
    third
    serve other echo 5432 pause=0.09 every=4
    serve server pool 7216 to=10.9.3.2:5432 size=4
    rule ip saddr 10.9.1.2 tcp dport 7216 ip length 200-400 numgen inc mod 60 == 41 counter drop
}
traffic() { ask requests 10.9.2.2 7216 4 threads=2 gap=0.01; }
