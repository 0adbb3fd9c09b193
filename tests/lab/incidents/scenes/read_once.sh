# ticket: Since messages grew, calls to 10.9.2.2:7431 take up to half a second at random. The server idles, and its log says that it answers at once.
# planted: The server's loop is edge-triggered (EPOLLET) and reads 4096 bytes at each event, once: the rest of a message of 6 kB stays in the socket until its client sends its sign of life, each 0.6 s.
# first: left data of 8 connections unread
# first: edge-triggered
plant() {
    serve server edge 7431
    serve server echo 7432
}
traffic() {
    ask requests 10.9.2.2 7432 6 gap=0.05 threads=2 &
    ask players 10.9.2.2 7431 6
    wait
}
