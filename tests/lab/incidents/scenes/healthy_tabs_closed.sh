# kind: healthy
# ticket: The front's log has requests at 10.9.2.2:7635 that were closed without an answer. Does it stand still?
# planted: Nothing: pages wait for news, which come after 1.5 s, and now and then somebody closes a tab; calls beside them go well.
# never: Something is wrong
plant() { serve server echo 7635 pause=1.5 large=800; }
tabs='
import socket, threading, time
end, n = time.time() + 8, [0, 0]
def tab(i):
    stays = i % 4
    while time.time() < end:
        s = socket.create_connection(("10.9.2.2", 7635))
        s.settimeout(None if stays else 0.4 + i / 20)
        try:
            while time.time() < end:
                s.sendall(b"%08d%08d" % (150, 900) + b"q" * 150)
                got = 0
                while got < 900:
                    got += len(s.recv(900 - got))
                n[0] += 1
        except TimeoutError:
            n[1] += 1
        s.close()
        time.sleep(3)
all = [threading.Thread(target=tab, args=(i,)) for i in range(12)]
[t.start() for t in all]
[t.join() for t in all]
print("news", n[0], "closed", n[1])
'
traffic() {
    client python3 -c "$tabs" &
    ask requests 10.9.2.2 7635 8 up=60 down=100 gap=0.02
    wait
}
