# Sender in namespace a.
import socket, time
def to():
    s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); s.connect(('10.99.1.2', 7000)); return s
s = to(); time.sleep(0.1)
for i in range(48): s.send(b'x' * 500); time.sleep(0.01)
s.close(); time.sleep(0.05)
a = to(); time.sleep(0.02); b = to(); time.sleep(0.05)
for i in range(20):
    a.send(b'q' * 200); time.sleep(0.001); b.send(b'w' * 100)
    a.recv(4096); b.recv(4096); time.sleep(0.005)
a.close(); b.close()
