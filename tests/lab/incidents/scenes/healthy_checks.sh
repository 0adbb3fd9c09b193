# kind: healthy
# ticket: The server at 10.9.2.2:7216 sees 10 resets a second. Are users hurt?
# planted: A health checker at 10.9.3.2 closes its connections by RST; users' calls go well.
# never: Something is wrong
plant() {
    third
    serve server echo 7216
}
traffic() {
    other python3 "$here/traffic.py" checks 10.9.2.2 7216 3 &
    ask requests 10.9.2.2 7216 3 gap=0.01
    wait
}
