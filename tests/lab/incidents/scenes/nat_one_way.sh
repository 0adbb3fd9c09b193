# ticket: Half of pod 10.244.1.2's new connections to the service 10.96.0.10:7309 time out; other pods' never.
# planted: One of the service's two pods is beside the client on its node's bridge, which hands answers directly to it, untranslated.
# first: answered from 10.244.1.3:7309
# first: NAT
plant() {
    overlay
    beside
    translated 7309
    serve other echo 7309
    serve service echo 7309
}
traffic() { pod python3 "$here/traffic.py" requests 10.96.0.10 7309 6 new=1 gap=0.1 timeout=1.2; }
