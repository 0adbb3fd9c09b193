# ticket: From time to time 10.9.1.2 gets no answer from 10.9.2.9 for seconds, though that host is idle; 10.9.2.2 beside it always answers.
# planted: The bridge lets one ARP frame a second pass from the router; a scan has the router ask for forty addresses a second that nobody has, from 2 s to 7 s.
# first: all ARP
# first: 10.9.2.9
# first: not resolved
plant() {
    beside_server
    other ip addr add 10.9.2.9/24 dev d0
    router sysctl -qw net.ipv4.neigh.br0.base_reachable_time_ms=500 net.ipv4.neigh.br0.delay_first_probe_time=1 net.ipv4.neigh.br0.retrans_time_ms=300
    other python3 "$here/traffic.py" serve datagrams 7125 address=10.9.2.9 answer=1 &
    router nft add table netdev lab || cannot "no nftables"
    router nft add chain netdev lab out '{ type filter hook egress device rd priority 0; }' || cannot "no egress hook"
    router nft add rule netdev lab out arp operation request limit rate over 1/second burst 1 packets drop
    sleep 0.4
}
traffic() {
    ask asks 10.9.2.9 7125 9 gap=0.05 &
    (
        sleep 2
        client timeout 5 python3 - << 'PY'
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(200):
    try:
        s.sendto(b"x", (f"10.9.2.{30 + n}", 161))
    except OSError:
        pass
    time.sleep(0.025)
PY
    )
    wait
}
