# kind: harmless
# ticket: The mean time of all calls to 10.9.2.2:7638 has tripled since the campaign. Does the server have to be larger?
# planted: Nobody is worse off: most users are of a country 40 ms away since, where few were; each of them, near or far, waits as long as before.
# never: Worse
plant() {
    third
    serve server app 7638 takes=99999:0.004 task=shop
    path 20
    router ip route add default dev tun0 table 100
    router ip rule add iif rd lookup 100 pref 10
    router ip rule add iif rs to 10.9.3.2 lookup 100 pref 11
}
traffic() {
    local near=8 far=1
    [ "$side" = after ] && near=3 far=8
    ask users 10.9.2.2 7638 6 kinds=near:1:200:600 threads=$near gap=0.1 &
    other python3 "$here/traffic.py" users 10.9.2.2 7638 6 kinds=far:1:200:600 threads=$far gap=0.1
    wait
}
