# ticket: All at once pods lose their connections to the service 10.96.0.10:7310 ("connection reset by peer"); its servers closed nothing.
# planted: The pods' node deletes its table of translations (conntrack -D) twice: what follows on each connection may go to the other server.
# first: not by the peer
# first: 10.96.0.10:7310
# first: NAT
plant() {
    command -v conntrack > /dev/null || cannot "no conntrack"
    overlay
    beside
    translated 7310 1
    serve other echo 7310
    serve service echo 7310
}
traffic() {
    for n in 1 2 3 4 5; do
        pod timeout 8 python3 "$here/traffic.py" requests 10.96.0.10 7310 6 threads=2 gap=0.02 &
    done
    for n in 1 2; do
        sleep 2
        client conntrack -D -p tcp --dport 7310 > /dev/null 2>&1
    done
    wait
}
