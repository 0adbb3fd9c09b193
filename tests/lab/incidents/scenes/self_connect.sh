# ticket: The ledger at 127.0.0.1:40064 crashed and does not come up again ("Address already in use"), though its clients are refused; the agent beside it says that it is connected.
# planted: The ledger's port is one that clients are given (ip_local_port_range); an agent that tries again each 4 ms was given it and connected to itself.
# first: connected to itself
# first: 127.0.0.1:40064
# first: EADDRINUSE
plant() {
    client sysctl -qw net.ipv4.ip_local_port_range="40000 40127"
    serve server echo 7418
}
traffic() {
    ask requests 10.9.2.2 7418 3 gap=0.02 &
    client python3 - << 'PY'
import socket, time
end = time.time() + 3
while time.time() < end:
    try:
        s = socket.create_connection(("127.0.0.1", 40064), 1)
    except OSError:
        time.sleep(0.004)
        continue
    print("connected", s.getsockname(), s.getpeername(), flush=True)
    while time.time() < end:
        s.sendall(b"PING")
        s.recv(100)
        time.sleep(0.1)
PY
    wait
}
