# ticket: The session of 10.9.1.2 with 10.9.2.2:7437 went down two seconds after the change of passwords and does not come up; the one of 10.9.3.2 is up.
# planted: 10.9.2.2 has a new TCP MD5 key (as of BGP) for 10.9.1.2, which still signs with the old one.
# first: MD5
# first: another key | passwords | keys differ | TCP_MD5FAILURE
# first: 10.9.2.2:7437
plant() {
    third
    client python3 -c "$peer" can 10.9.2.2 old || cannot "no TCP MD5 signatures"
    server python3 -c "$peer" serve &
    sleep 0.5
    client python3 -c "$peer" talk 10.9.1.2 old 5 &
    other python3 -c "$peer" talk 10.9.3.2 other 5 &
    sleep 0.4
}
peer='
import socket, struct, sys, threading, time
def key(s, peer, word):
    to = struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(peer))
    s.setsockopt(socket.IPPROTO_TCP, 14, to + struct.pack("=BBHI80s", 0, 0, len(word), 0, word.encode()))
def exchange(s, what):
    try:
        while True:
            s.sendall(b"keepalive %9d" % what[0])
            what[0] += 1
            time.sleep(0.15)
    except OSError:
        s.close()
def serve():
    listener, began, turned = socket.socket(), time.time(), False
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    key(listener, "10.9.1.2", "old")
    key(listener, "10.9.3.2", "other")
    listener.bind(("10.9.2.2", 7437))
    listener.listen()
    listener.settimeout(0.05)
    open_now = []
    def read(s):
        try:
            while s.recv(100):
                pass
        except OSError:
            pass
        s.close()
    while True:
        try:
            s, (peer, _) = listener.accept()
            s.settimeout(None)
            open_now.append((s, peer))
            threading.Thread(target=exchange, args=(s, [0]), daemon=True).start()
            threading.Thread(target=read, args=(s,), daemon=True).start()
        except TimeoutError:
            pass
        if not turned and time.time() > began + 2.5:
            turned = True
            for s in [listener] + [s for s, peer in open_now if peer == "10.9.1.2"]:
                key(s, "10.9.1.2", "new")
            print("the key for 10.9.1.2 is changed", flush=True)
def talk(me, word, seconds):
    end, sessions, failed = time.time() + seconds, 0, 0
    while time.time() < end:
        s = socket.socket()
        key(s, "10.9.2.2", word)
        s.settimeout(1.0)
        try:
            s.connect(("10.9.2.2", 7437))
            sessions += 1
            threading.Thread(target=exchange, args=(s, [0]), daemon=True).start()
            while time.time() < end and s.recv(100):
                pass
        except OSError as e:
            failed += 1
            print(me, e, flush=True)
        s.close()
        time.sleep(0.2)
    print(me, "sessions", sessions, "failed", failed, flush=True)
if sys.argv[1] == "can":
    key(socket.socket(), sys.argv[2], sys.argv[3])
elif sys.argv[1] == "serve":
    serve()
else:
    talk(sys.argv[2], sys.argv[3], float(sys.argv[4]))
'
traffic() {
    sleep 5.4
    server nstat -asz TcpExtTCPMD5Failure TcpExtTCPMD5NotFound TcpExtTCPMD5Unexpected | grep MD5
}
