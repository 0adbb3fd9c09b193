# ticket: Calls to 10.9.2.2:7343 take 50 ms. Its CPUs idle, and so does the network.
# planted: The server writes each answer to its log and waits for the disk, which may do 20 writes each second.
# first: 10.9.2.2:7343
# first: in the server
# first: uninterruptibl | state D | disk
plant() {
    slow_disk 20
    (echo "$BASHPID" > "$group/cgroup.procs" && serve server log 7343 path="$dir/log")
}
traffic() {
    ask requests 10.9.2.2 7343 4 threads=2 gap=0.03
    fast_disk "$dir/log"
}
