# ticket: The job that calls 10.9.2.2:7110 fails at once for most of its calls; the server says it is idle.
# planted: 64 local ports, a new connection per call: all are in TIME_WAIT soon, connect() fails with EADDRNOTAVAIL.
# first: no free local port
# first: 10.9.2.2:7110
plant() {
    serve server echo 7110
    client sysctl -qw net.ipv4.ip_local_port_range='40000 40063'
}
traffic() { ask requests 10.9.2.2 7110 3 new=1 gap=0.01; }
