# ticket: Calls to 10.9.2.2:7001 take 10 ms and more, since this afternoon.
# planted: A real-time task has the server's CPU for 30 of each 100 ms.
# first: waiting for a CPU | reader runnable
# first: behind python3
plant() {
    server taskset -c 1 python3 "$here/traffic.py" serve echo 7001 &
    sleep 0.5
    server taskset -c 1 chrt -f 50 python3 -c 'import time
while True:
    t = time.time()
    while time.time() - t < 0.03:
        pass
    time.sleep(0.07)' &
}
traffic() { client taskset -c 0 python3 "$here/traffic.py" requests 10.9.2.2 7001 3; }
