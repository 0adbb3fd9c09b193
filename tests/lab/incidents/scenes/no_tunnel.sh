# ticket: Since a node was replaced pod 10.244.1.2 reaches nothing at 10.244.2.2:7307; node to node all is well.
# planted: The VXLAN of the pod's node sends to 10.9.3.2, a host that has no VXLAN.
# first: NO_SOCKET
# first: 10.9.3.2:8472
# first: 10.244.2.2:7307
plant() {
    overlay
    third
    serve service echo 7307
    tunnel_to 10.9.3.2
}
traffic() {
    serve server echo 7305
    ask requests 10.9.2.2 7305 5 gap=0.05 &
    pod timeout 5 python3 "$here/traffic.py" requests 10.244.2.2 7307 4
    wait
}
