# kind: pair
# ticket: The hosts need twice the CPU for the same transfer to 10.9.2.2:7109.
# planted: Segmentation offload at c0 and GRO at s0 are off after.
# first: segmentation | gro
plant() {
    if [ "$side" = after ]; then
        client ethtool -K c0 tso off gso off
        server ethtool -K s0 gro off
    fi
    iperf_server 7109
}
traffic() { client timeout 6 iperf3 -c 10.9.2.2 -p 7109 -t 3 -b 24M -l 32K; }
