import ctypes, os, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
l = socket.socket(); l.bind(('127.0.0.1', 7001)); l.listen(1)
N = 100
def send():
    s = socket.socket(); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1); s.connect(('127.0.0.1', 7001))
    time.sleep(0.1)
    for i in range(N): s.send(b'x' * 1000); time.sleep(0.003)
    s.close()
threading.Thread(target=send).start()
c, _ = l.accept()
buf = ctypes.create_string_buffer(65536)
by_recv = by_zc = 0
i = 0
import select
while True:
    select.select([c], [], [])
    i += 1
    if i % int(sys.argv[1]) == 0:
        z = bytearray(struct.pack('QIIIiQiIQQII', 0, 0, 0, 0, 0, ctypes.addressof(buf), 65536, 0, 0, 0, 0, 0))
        arr = (ctypes.c_char * len(z)).from_buffer(z); n = ctypes.c_uint32(len(z))
        r = libc.getsockopt(c.fileno(), 6, 35, arr, ctypes.byref(n))
        if r < 0: print('err', ctypes.get_errno(), file=sys.stderr); continue
        got = struct.unpack('QIIIiQiIQQII', bytes(z))[6]
        if got > 0: by_zc += got; continue
        continue
    d = c.recv(65536)
    if not d: break
    by_recv += len(d)
print('recv', by_recv, 'zerocopy', by_zc)
