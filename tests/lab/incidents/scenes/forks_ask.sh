# ticket: Each new connection to 10.9.2.2:7378 stands at once, and its first answer takes 2.4 s. Those that are kept are quick.
# planted: Its server forks for each connection and asks 10.9.2.3:53 for the client's name, twice, 1.2 s each; the name server holds its socket and never reads.
# first: processes named python3
# first: 10.9.2.3:53
# first: 10.9.2.2:7378
plant() {
    server ip addr add 10.9.2.3/32 dev s0
    router ip route add 10.9.2.3 dev rs
    server python3 "$here/traffic.py" serve datagrams 53 address=10.9.2.3 mute=1 &
    serve server forks 7378 resolver=10.9.2.3 timeout=1.2
    sleep 0.4
}
traffic() { ask requests 10.9.2.2 7378 4 threads=12 gap=0.01 new=1; }
