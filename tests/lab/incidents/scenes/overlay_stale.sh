# ticket: Since the other node got a new address, pod 10.244.1.2 reaches nothing there; node to node all is well.
# planted: The VXLAN of the pod's node still sends to the old address (10.9.2.9), which nobody has.
# first: 10.9.2.9
# first: 10.244.2.2:7304
plant() {
    overlay
    serve service echo 7304
    tunnel_to 10.9.2.9
}
traffic() {
    serve server echo 7305
    ask requests 10.9.2.2 7305 5 gap=0.05 &
    pod timeout 5 python3 "$here/traffic.py" requests 10.244.2.2 7304 4
    wait
}
