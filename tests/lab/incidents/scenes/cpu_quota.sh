# ticket: The job on 10.9.1.2 gets through half of the calls to 10.9.2.2:7217 that it made last week; its log shows calls of 60 ms.
# planted: The client's cgroup may have the CPU for 20 of each 100 ms, and needs 2.5 ms for each answer; the CPUs idle.
# first: may use 20 ms of CPU per 100 ms
# first: was stopped in
# first: python3
plant() {
    serve server echo 7217
    cpu_group 20000
    # The job runs before it is recorded, as jobs do: who is in a cgroup is read before and after.
    (
        echo "$BASHPID" > "$dir/job"
        echo "$BASHPID" > "$group/cgroup.procs"
        exec ip netns exec "$id-client" python3 "$here/traffic.py" requests 10.9.2.2 7217 6 cpu=0.0025 gap=0.003
    ) &
    sleep 0.5
}
traffic() {
    while kill -0 "$(cat "$dir/job")" 2> /dev/null; do sleep 0.1; done
    cat /sys/fs/cgroup/{cpu/,}"$id"/cpu.stat 2> /dev/null
}
