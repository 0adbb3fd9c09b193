# ticket: Since some seconds half of the names do not resolve; the name server, 10.9.2.3:53, is up and answers the others at once.
# planted: It asks 10.9.3.2:53 for half of the names, which answers nothing more from 3 s on. What is asked again while it asks there is not asked there again; after 1 s it gives up, without a word.
# first: 10.9.2.3:53
# first: itself asked 10.9.3.2:53
plant() {
    third
    server ip addr add 10.9.2.3/32 dev s0
    router ip route add 10.9.2.3 dev rs
    other python3 "$here/traffic.py" serve datagrams 53 answer=60 &
    server python3 - << 'PY' &
import select, socket, time
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("10.9.2.3", 53))
poll, under_way = select.epoll(), {}
poll.register(u, select.EPOLLIN)
while True:
    for number, _ in poll.poll(0.1):
        if number != u.fileno():
            far, asked, _ = under_way.pop(number)
            u.sendto(far.recv(2000), asked[1])
            far.close()
            continue
        asked = u.recvfrom(2000)
        if int(asked[0][:8]) % 2:
            u.sendto(asked[0] + b"a" * 60, asked[1])
        elif all(asked != other for _, other, _ in under_way.values()):
            far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            far.connect(("10.9.3.2", 53))
            far.send(asked[0])
            under_way[far.fileno()] = (far, asked, time.time())
            poll.register(far, select.EPOLLIN)
    for number, (far, _, at) in list(under_way.items()):
        if time.time() - at > 1:
            del under_way[number]
            far.close()
PY
    sleep 0.5
}
traffic() {
    for _ in 1 2 3 4 5 6 7 8; do ask questions 10.9.2.3 53 7 gap=0.02 timeout=0.3 & done
    sleep 3
    ip netns pids "$id-other" | xargs kill -STOP
    wait
}
