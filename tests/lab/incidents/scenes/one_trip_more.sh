# kind: pair
# ticket: Each page of 10.9.2.2:7632 takes 30 ms longer since the server's update. Its own log has the answers as quick as before, so has the network's monitor.
# planted: The path is 24 ms long; after, the server asks each new connection for one message more before it answers.
# first: Worse
# first: 10.9.2.2:7632
# page: 3 exchanges where they had 2
plant() {
    serve server echo 7632
    delay 12
}
visits='
import socket, sys, threading, time
n, took, end = int(sys.argv[1]), [], time.time() + 5
def visit():
    while time.time() < end:
        at = time.time()
        with socket.create_connection(("10.9.2.2", 7632)) as s:
            for down in [200] * n + [300]:
                s.sendall(b"%08d%08d" % (200, down) + b"q" * 200)
                while down > 0:
                    down -= len(s.recv(down))
        took.append(time.time() - at)
        time.sleep(0.05)
all = [threading.Thread(target=visit) for _ in range(4)]
[t.start() for t in all]
[t.join() for t in all]
took.sort()
print("page n", len(took), "p50 %.3f ms" % (1e3 * took[len(took) // 2]))
'
traffic() { client python3 -c "$visits" "$([ "$side" = after ] && echo 2 || echo 1)"; }
