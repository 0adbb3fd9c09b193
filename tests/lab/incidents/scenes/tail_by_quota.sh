# kind: pair
# ticket: The slowest calls of 10.9.2.2:7355 take 60 ms and more since the resource review; half of them are as fast as ever, and the host idles.
# planted: The server's cgroup may have the CPU for 15 of each 100 ms, and needs 4 ms for each answer; before it had no limit.
# first: 10.9.2.2:7355
# first: cpu.max[python3]: none -> 15 ms of CPU per 100 ms
# first: cpu.stat[python3]: none -> stopped in
plant() {
    serve server echo 7355 cpu=0.004
    if [ "$side" = after ]; then
        cpu_group 15000
        for pid in $(pgrep -f "traffic.py serve echo 7355"); do echo "$pid" > "$group/cgroup.procs"; done
    fi
}
traffic() {
    ask requests 10.9.2.2 7355 4 gap=0.015
    cat /sys/fs/cgroup/{cpu/,}"$id"/cpu.stat 2> /dev/null
}
