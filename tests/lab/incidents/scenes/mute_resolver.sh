# ticket: Each job takes a second before it does anything.
# planted: The first name server, 10.9.2.3:53, holds its socket and never reads; after 1 s the second answers.
# first: no answer
# first: all 4
# page: python3
plant() {
    local a
    for a in 10.9.2.3 10.9.2.4; do
        server ip addr add "$a/32" dev s0
        router ip route add "$a" dev rs
    done
    serve server echo 7205
    server python3 "$here/traffic.py" serve datagrams 53 address=10.9.2.3 mute=1 &
    server python3 "$here/traffic.py" serve datagrams 53 address=10.9.2.4 answer=1 &
    sleep 0.4
}
traffic() { ask lookup 10.9.2.2 7205 4 first=10.9.2.3 second=10.9.2.4; }
