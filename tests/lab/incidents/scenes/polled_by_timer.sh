# ticket: Since the host 10.9.2.2 was tuned each request to 10.9.2.2:7415 takes 10 to 20 ms; it was a fifth of one.
# planted: gro_flush_timeout is 20 ms (20 us were meant) with napi_defer_hard_irqs on s0.
# first: napi_watchdog
# first: gro_flush_timeout
# first: s0
plant() {
    server ethtool -K s0 gro on
    server sh -c 'echo 2 > /sys/class/net/s0/napi_defer_hard_irqs; echo 20000000 > /sys/class/net/s0/gro_flush_timeout' || cannot "no gro_flush_timeout"
    serve server echo 7415
}
traffic() { ask requests 10.9.2.2 7415 5 gap=0.02 threads=3; }
