# ticket: Quotes reach the desk up to 300 ms late since its program's update; they leave the source, 10.9.2.2:7634, at once, and the line is empty.
# planted: The program asks to be woken for 4000 bytes at least (SO_RCVLOWAT); a quote has 600, one comes each 50 ms.
# first: at 10.9.1.2:
# first: SO_RCVLOWAT
# first: nothing was missing
plant() {
    server python3 - << 'PY' &
import socket, time
c = socket.create_server(("10.9.2.2", 7634)).accept()[0]
c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(120):
    c.sendall(b"%020.6f" % time.time() + b"t" * 580)
    time.sleep(0.05)
PY
    sleep 0.5
}
desk='
import socket, time
s = socket.create_connection(("10.9.2.2", 7634))
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 4000)
got, late = b"", []
while part := s.recv(65536):
    got += part
    while len(got) >= 600:
        late.append(time.time() - float(got[:20]))
        got = got[600:]
late.sort()
print("quotes", len(late), "late by p50 %.1f max %.1f ms" % (1e3 * late[len(late) // 2], 1e3 * late[-1]))
'
traffic() { client python3 -c "$desk"; }
