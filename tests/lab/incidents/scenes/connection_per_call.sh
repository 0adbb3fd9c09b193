# kind: pair
# ticket: After the update each call to 10.9.2.2:7123 takes 16 ms, it took 8.
# planted: The path is 8 ms long; the client opens a connection for each call after, and kept one before.
# first: connections | opens | opened
plant() {
    serve server echo 7123
    delay 4
}
traffic() { ask requests 10.9.2.2 7123 3 gap=0.01 new="$([ "$side" = after ] && echo 1 || echo 0)"; }
