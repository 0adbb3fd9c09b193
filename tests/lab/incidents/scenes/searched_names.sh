# kind: pair
# ticket: The same calls to 10.9.1.1:7353 take 20 ms since the hosts have the new standard settings, they took 5; the service behind it is as fast as before.
# planted: A search list: for each call its program asks 10.9.2.3 for five names in place of one, and that asks another name server, which takes 3 ms.
# first: 10.9.1.1:7353
# first: by UDP 1.0 -> 5.0 times
plant() {
    name_server 0.003 1
    serve server echo 7354
    serve router pool 7353 to=10.9.2.2:7354 size=3 resolver=10.9.2.3 names="$([ "$side" = after ] && echo 5 || echo 1)"
}
traffic() { ask requests 10.9.1.1 7353 4 threads=2 gap=0.02; }
