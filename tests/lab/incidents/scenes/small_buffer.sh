# ticket: Replication from 10.9.1.2 to 10.9.2.2:7350 falls behind: half a megabyte a second, over a line with room for far more, and its reader is idle.
# planted: The receiver asks for a receive buffer of 12 kB (SO_RCVBUF); the round trip is 24 ms.
# first: the size of its peer's receive window
# first: 10.9.2.2:7350
plant() {
    serve server sink 7350 receive_buffer=12288
    delay 12
}
traffic() { ask bulk 10.9.2.2 7350 3; }
