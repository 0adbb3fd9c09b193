# kind: pair
# ticket: Each call to 10.9.2.2:7556 takes a quarter of a second since yesterday, it took 6 ms. The server says that it answers at once.
# planted: After, its name has an IPv6 address, too, fd09:2::77, which nobody has; clients try that first and take IPv4 after 250 ms.
# first: Worse
# first: fd09:2::77
# page: SYN
plant() {
    ipv6
    serve server app 7556 takes=99999:0.004 task=shop
}
traffic() {
    local name=
    [ "$side" = after ] && name=fd09:2::77
    for _ in 1 2 3; do ask eyeballs 10.9.2.2 7556 6 v6=$name wait=0.25 & done
    ask eyeballs 10.9.2.2 7556 6 v6=$name wait=0.25
    wait
}
