# kind: pair
# ticket: Since the new host profile 10.9.1.2 sends 5 % of its segments to 10.9.2.2:7426 again; before, none. The switch is suspected.
# planted: net.ipv4.tcp_rto_min_us of the client is 5 ms after, 200 ms before; the server acknowledges with its answer, 30 ms later.
# first: had it already
# first: it was not lost
# page: tcp_rto_min_us
plant() {
    client sysctl -qw net.ipv4.tcp_rto_min_us="$([ "$side" = after ] && echo 5000 || echo 200000)" 2> /dev/null || cannot "no tcp_rto_min_us"
    serve server echo 7426 pause=0.03 every=5
}
traffic() { ask requests 10.9.2.2 7426 5 gap=0.005 threads=4; }
