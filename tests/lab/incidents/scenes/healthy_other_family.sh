# kind: healthy
# ticket: Each connection of the shop to its service is refused, says the alarm of "connection refused". Is anybody hurt?
# planted: Nothing: the service's name has an IPv6 address on which nothing listens, beside its IPv4 address; each call tries the one, is refused at once, and takes the other.
# never: Something is wrong
plant() {
    ipv6
    serve server echo 7641
}
traffic() {
    client python3 - << 'PY'
import random, socket, time
end, calls, late = time.time() + 6, 0, 0
while time.time() < end:
    at = time.time()
    for address in ("fd09:2::2", "10.9.2.2"):
        try:
            s = socket.create_connection((address, 7641), 3)
            break
        except OSError:
            pass
    s.sendall(b"%08d%08d" % (200, 300) + b"q" * 200)
    left = 300
    while left:
        left -= len(s.recv(left))
    s.close()
    calls, late = calls + 1, late + (time.time() - at > 0.05)
    time.sleep(random.uniform(0.02, 0.2))
print("calls", calls, "of more than 50 ms", late)
PY
}
