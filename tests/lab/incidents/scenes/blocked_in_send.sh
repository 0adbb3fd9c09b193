# ticket: Twice in this recording all calls to 10.9.2.2:7202 hung for a second at the same moment. The server idles, and so does the link.
# planted: The server's only thread writes a report of 3 MB to another client, 10.9.3.2, which reads slowly, in a call that blocks.
# first: 10.9.2.2:7202 > 10.9.3.2:
# first: asleep in sendto
# first: the peer's receive window | peer's receive window was full
plant() {
    third
    serve server loop 7202 send_buffer=65536
}
traffic() {
    other python3 "$here/traffic.py" reports 10.9.2.2 7202 3 &
    ask requests 10.9.2.2 7202 4 threads=3
    wait
}
