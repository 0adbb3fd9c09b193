# ticket: Half of the calls of 10.9.1.2 to the service 10.96.0.40:7420 time out, at random; other hosts' never do.
# planted: The service's address is translated to 10.9.2.2 or to 10.9.1.2, the caller itself, without masquerading: its own SYN comes back to it.
# first: came back to the host that had sent them: rc
# first: hairpin
# first: IP_LOCAL_SOURCE
# first: 10.96.0.40:7420
plant() {
    router nft add table ip svc
    router nft add chain ip svc pre '{ type nat hook prerouting priority -100; }'
    router nft add rule ip svc pre ip daddr 10.96.0.40 tcp dport 7420 dnat to numgen inc mod 2 map '{ 0 : 10.9.2.2, 1 : 10.9.1.2 }'
    router sysctl -qw net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.rc.send_redirects=0
    serve server echo 7420
    serve client echo 7420
}
traffic() { ask requests 10.96.0.40 7420 4 new=1 gap=0.1 timeout=1.2; }
