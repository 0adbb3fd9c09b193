# ticket: The shop behind the proxy 10.9.1.1:7115 shows errors for half a second, again and again. The servers' people find none of these requests in their log.
# planted: For 0.5 of each 2 s the proxy holds its server for dead and answers by itself.
# first: answered by itself
# first: without asking a server
plant() {
    serve server echo 7165
    serve router proxy 7115 to=10.9.2.2:7165 down_each=2 down_for=0.5
}
traffic() { ask requests 10.9.1.1 7115 7 threads=3; }
