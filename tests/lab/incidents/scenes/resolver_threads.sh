# ticket: The shop froze for three seconds: no call to 10.9.2.2:7421 came back, then all at once. Neither the server nor DNS has anything slow in its log.
# planted: One thread resolves names; another name, which the resolver never answers, holds it for two times 1.5 s.
# first: opened no connection for
# first: had no answer
# first: names wait for the threads
plant() {
    serve server echo 7421
    server python3 - << 'PY' &
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.9.2.2", 53))
while True:
    said, who = s.recvfrom(100)
    if not said.startswith(b"mute"):
        s.sendto(said, who)
PY
    sleep 0.3
}
traffic() {
    client python3 - << 'PY'
import concurrent.futures, socket, threading, time
names = concurrent.futures.ThreadPoolExecutor(1)
def resolve(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("10.9.2.2", 53))
        s.settimeout(1.5)
        for _ in range(2):
            s.send(name)
            try:
                return s.recv(100)
            except TimeoutError:
                pass
end = time.time() + 6
threading.Timer(1.5, lambda: names.submit(resolve, b"mute.example")).start()
longest = 0
while time.time() < end:
    began = time.time()
    names.submit(resolve, b"shop.example").result()
    with socket.create_connection(("10.9.2.2", 7421), 3) as s:
        s.sendall(b"%08d%08d" % (0, 8))
        s.recv(8)
    longest = max(longest, time.time() - began)
    time.sleep(0.04)
print("longest", longest, flush=True)
PY
}
