# kind: healthy
# ticket: The new tunnel takes 1400 bytes only, and there are retransmissions in uploads to 10.9.2.2:7232. Is it a path MTU black hole?
# planted: Path MTU discovery that works: ICMP messages come, and what was too long is sent again at once.
# never: Something is wrong
plant() {
    delay 3
    router ip link set tun0 mtu 1400
    serve server echo 7232
}
traffic() { ask requests 10.9.2.2 7232 3 up=60000 gap=0.05; }
