# ticket: At some time all calls to 10.9.2.2:7116 hung for more than half a second.
# planted: Somebody stops the server for 600 ms (SIGSTOP, then SIGCONT).
# first: stopped by a signal
plant() { serve server echo 7116; }
traffic() {
    local pid
    pid=$(ip netns pids "$NMLAB_ID-server" | head -1)
    (sleep 1.2; kill -STOP "$pid"; sleep 0.6; kill -CONT "$pid") &
    ask requests 10.9.2.2 7116 3
    wait
}
