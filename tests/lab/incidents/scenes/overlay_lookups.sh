# ticket: Pods' lookups by 10.244.2.2 take 5 seconds now and then.
# planted: The resolver's socket has room for few datagrams, and those of a burst that come in over the VXLAN are dropped there.
# first: SOCKET_RCVBUFF
# first: 10.244.2.2:7306 | port 7306 | UDP 7306
plant() {
    overlay
    serve service datagrams 7306 receive_buffer=4096 pause=0.01 every=20
}
traffic() { pod python3 "$here/traffic.py" datagrams 10.244.2.2 7306 3 size=500 gap=0.0004; }
