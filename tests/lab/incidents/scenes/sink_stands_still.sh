# kind: pair
# ticket: Every few seconds all answers from 10.9.1.1:7570 hang for half a second and more since the log host was exchanged.
# planted: The application behind it, 10.9.2.2:7571, writes its log to 10.9.3.2:7572 before each answer; after, that reads nothing for 1 s every 3 s, and these writes block.
# first: Worse
# first: 10.9.1.1:7570 | 10.9.2.2:7571 | 10.9.3.2:7572
# page: 10.9.3.2:7572
plant() {
    third
    if [ "$side" = after ]; then
        serve other sink 7572 receive_buffer=16384 reads=2 still=1 task=logs
    else
        serve other sink 7572 receive_buffer=16384 reads=60 still=0.001 task=logs
    fi
    serve server app 7571 takes=1000:0.003,99999:0.012 sink=10.9.3.2:7572 line=3000 task=orders
    serve router pool 7570 to=10.9.2.2:7571 size=24 task=front
}
traffic() { ask users 10.9.1.1 7570 19 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=16 gap=0.25; }
