# kind: healthy
# ticket: `RX dropped` of rd counts up. Does it hurt the users of 10.9.2.2:7217?
# planted: Frames of LLDP and broadcasts that nobody wants; nothing that was meant for a program is lost.
# never: Something is wrong
plant() {
    third
    serve server echo 7217
}
traffic() {
    other python3 "$here/traffic.py" unknown_frames 10.9.3.255 138 3 source=10.9.3.2 &
    ask requests 10.9.2.2 7217 3 gap=0.008
    wait
}
