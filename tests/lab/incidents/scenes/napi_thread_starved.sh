# ticket: Calls to 10.9.2.2:7104 take 30 ms now and then. CPU use of the server's process is nothing.
# planted: Threaded NAPI at s0; its thread shares CPU 1 with a real-time task that has it for 30 of each 100 ms.
# first: napi/s0
# first: for a CPU
plant() {
    serve server echo 7104
    router ethtool -K rs tso off
    server ethtool -K s0 gro on
    server sh -c 'echo 1 > /sys/class/net/s0/threaded' || cannot "no threaded NAPI"
    local thread
    thread=$(pgrep -n '^napi/s0') || cannot "no thread of NAPI"
    taskset -cp 1 "$thread"
    server taskset -c 1 chrt -f 50 python3 -c 'import time
while True:
    t = time.time()
    while time.time() - t < 0.03:
        pass
    time.sleep(0.07)' &
}
traffic() { client taskset -c 0 python3 "$here/traffic.py" requests 10.9.2.2 7104 3; }
