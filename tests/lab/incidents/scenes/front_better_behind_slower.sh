# kind: harmless
# ticket: The server behind the front, 10.9.2.2:7524, takes 25 ms since last night, it took 8. Who must be told?
# planted: No user is worse off: the front, 10.9.1.1:7523, has a cache now; few requests reach that server, which took 8 ms, but 60 for each eighth.
# never: Worse
plant() {
    if [ "$side" = after ]; then
        serve server app 7524 takes=99999:0.025 task=catalog
    else
        # Of eight answers seven take 8 ms and one, of the largest pages, 60: the 40 sizes are 2000 to 5900 bytes.
        serve server app 7524 takes=5400:0.008,99999:0.06 task=catalog
    fi
    serve router cache 7523 to=10.9.2.2:7524 size=10 keep="$([ "$side" = after ] && echo 6 || echo 0)" pause=0.004 task=front
    ask users 10.9.1.1 7523 2.5 kinds=page:1:200:2000/100 threads=10 gap=0.05 > /dev/null
}
traffic() { ask users 10.9.1.1 7523 8 kinds=page:1:150-250:2000/100 threads=10 gap=0.12; }
