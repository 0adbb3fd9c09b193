# ticket: Log-ins with a certificate get no answer from 10.9.2.2:7414, those with a password do; nothing was changed there.
# planted: The server's memory for reassembly is full of datagrams of which one fragment alone ever comes; long datagrams are refused.
# first: ip_defrag
# first: reassembly
# first: ipfrag_high_thresh
plant() {
    server sysctl -qw net.ipv4.ipfrag_high_thresh=300000 net.ipv4.ipfrag_low_thresh=200000
    serve server datagrams 7414 answer=60
}
traffic() {
    ask names 10.9.2.2 7414 5 size=3000 &
    ask names 10.9.2.2 7414 5 &
    sleep 1.5
    ask half_datagrams 10.9.2.2 5600 4
    wait
}
