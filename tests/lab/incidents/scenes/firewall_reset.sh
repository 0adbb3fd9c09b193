# ticket: Uploads to 10.9.2.2:7117 break with `connection reset by peer`. The server has no such line in its log.
# planted: The router answers with a RST in the server's name after 1500 kB.
# first: not by its peer
plant() {
    serve server sink 7117
    rule tcp dport 7117 quota over 1500 kbytes counter reject with tcp reset
}
traffic() { ask bulk 10.9.2.2 7117 3 gap=0.02; }
