# ticket: Calls to 10.9.2.2:7343 take 50 ms. Its CPUs idle, and so does the network.
# planted: The server writes each answer to its log and waits for the disk, which may do 20 writes each second.
# first: 10.9.2.2:7343
# first: in the server
# first: uninterruptibl | state D | disk
plant() {
    local disk
    disk=$(stat -c '%d' "$dir")
    disk=$((disk >> 8)):$((disk & 255))
    [ -e "/sys/dev/block/$disk" ] || cannot "$dir is on no disk"
    [ -e "/sys/dev/block/$disk/partition" ] && disk=$(cat "/sys/dev/block/$disk/../dev")
    group=/sys/fs/cgroup/blkio/$id
    if ! { mkdir -p "$group" && echo "$disk 20" > "$group/blkio.throttle.write_iops_device"; } 2> /dev/null; then
        group=/sys/fs/cgroup/$id
        { echo +io > /sys/fs/cgroup/cgroup.subtree_control; mkdir -p "$group" && echo "$disk wiops=20" > "$group/io.max"; } 2> /dev/null ||
            cannot "no limits of disks"
    fi
    (echo "$BASHPID" > "$group/cgroup.procs" && serve server log 7343 path="$dir/log")
}
traffic() {
    ask requests 10.9.2.2 7343 4 threads=2 gap=0.03
    group=$(ls -d /sys/fs/cgroup/blkio/"$id" /sys/fs/cgroup/"$id" 2> /dev/null | head -1)
    xargs -r kill -9 < "$group/cgroup.procs"
    sleep 0.3
    rm -f "$dir/log"
    rmdir "$group"
}
