# ticket: Since some seconds nobody in 10.9.1.0/24 reaches 10.9.2.2:7621, nor gets a word back; the router answers pings, and has no rule.
# planted: From 3 s on the router forwards no more: its net.ipv4.ip_forward was set to 0, as a script for hardening does.
# first: no longer forwards
# first: net.ipv4.ip_forward was switched from 1 to 0
plant() { serve server echo 7621; }
traffic() {
    ask requests 10.9.2.2 7621 7 new=1 gap=0.05 threads=3 timeout=1.5 &
    ask requests 10.9.2.2 7621 7 gap=0.05 threads=2 timeout=1.5 &
    sleep 3
    router sysctl -qw net.ipv4.ip_forward=0
    wait
}
