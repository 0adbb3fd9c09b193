# ticket: Name service at 10.9.2.3:7404 does not answer this host; on the server the log shows every question and answer.
# planted: The server has two addresses on one device; its unbound socket answers from the first, 10.9.2.2, which the connected sockets of the client do not take.
# first: port 7404 | 10.9.2.3:7404
# first: no socket took the answers
# first: another address
plant() {
    server ip addr add 10.9.2.3/24 dev s0
    serve server datagrams 7404 answer=60
}
traffic() { ask names 10.9.2.3 7404 5; }
