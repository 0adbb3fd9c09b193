# ticket: The new session of 10.9.1.2 to 10.9.2.2:7438 does not come up ("timed out"); that of 10.9.3.2 is up.
# planted: 10.9.2.2 has a TCP MD5 key (as of BGP) for 10.9.1.2; at 10.9.1.2 no password is set.
# first: MD5
# first: no TCP MD5 signature | at this end alone | not signed | TCP_MD5NOTFOUND
# first: 10.9.2.2:7438
plant() {
    third
    client python3 -c "import socket, struct; socket.socket().setsockopt(6, 14, struct.pack('=HH4s120xBBHI80s', 2, 0, b'aaaa', 0, 0, 3, 0, b'key'))" ||
        cannot "no TCP MD5 signatures"
    server python3 - << 'PY' &
import socket, struct, threading
listener = socket.socket()
to = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton("10.9.1.2"))
listener.setsockopt(socket.IPPROTO_TCP, 14, to + struct.pack("=BBHI80s", 0, 0, 6, 0, b"secret"))
listener.bind(("10.9.2.2", 7438))
listener.listen()
def answer(c):
    with c:
        while c.recv(100):
            c.sendall(b"keepalive")
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
PY
    sleep 0.4
}
session='
import socket, sys, time
end, opened, failed = time.time() + 3, 0, 0
while time.time() < end:
    try:
        with socket.create_connection(("10.9.2.2", 7438), 1.2) as s:
            opened += 1
            while time.time() < end:
                s.sendall(b"keepalive")
                s.recv(100)
                time.sleep(0.05)
    except OSError as e:
        failed += 1
        time.sleep(0.1)
print(sys.argv[1], "opened", opened, "failed", failed, flush=True)
'
traffic() {
    other python3 -c "$session" 10.9.3.2 &
    client python3 -c "$session" 10.9.1.2
    server nstat -asz TcpExtTCPMD5Failure TcpExtTCPMD5NotFound TcpExtTCPMD5Unexpected | grep MD5
    wait
}
