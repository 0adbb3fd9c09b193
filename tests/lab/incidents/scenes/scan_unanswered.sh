# ticket: The firewall in front of 10.9.2.2 reports hundreds of SYNs from 10.9.1.2. Is our application broken, or is something else on that host?
# planted: A program tries 150 ports of 10.9.2.2 for 25 ms each; what is in front of 10.9.2.2 lets only 7440 through, where users' calls go well.
# first: port scan | scans ports | scanning
# first: 150
# page: python3
plant() {
    # The filter is no part of this kernel: what it swallows is held elsewhere.
    path 60000 tun1
    router ip route add default dev tun1 table 101
    router nft add table ip lab
    router nft add chain ip lab pre '{ type filter hook prerouting priority -150; }'
    router nft add rule ip lab pre iifname rc tcp dport != 7440 meta mark set 1
    router ip rule add fwmark 1 lookup 101 pref 10
    serve server echo 7440
}
traffic() {
    ask requests 10.9.2.2 7440 5 gap=0.01 &
    client python3 - << 'PY'
import random, socket, time
counts = {}
for port in random.Random(7).sample(range(20, 7000), 150):
    with socket.socket() as s:
        s.settimeout(0.025)
        try:
            s.connect(("10.9.2.2", port))
            said = "open"
        except OSError as e:
            said = type(e).__name__
        counts[said] = counts.get(said, 0) + 1
print(counts, flush=True)
PY
    wait
}
