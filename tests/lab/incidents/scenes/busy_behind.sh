# kind: pair
# ticket: Some of the answers from 10.9.1.1:7560 take a quarter of a second since last night; the front and the application are idle.
# planted: Front, application and store stand behind one another; after, a job of the store, 10.9.3.2:7562, holds its lock for 250 ms every 1.5 s.
# first: Worse
# first: 10.9.1.1:7560 | 10.9.3.2:7562
# page: 10.9.3.2:7562
plant() {
    third
    if [ "$side" = after ]; then
        serve other collector 7562 pause=0.25 spread=0.03 every=1.25 asleep=1 task=store
    else
        serve other collector 7562 pause=0 every=60 task=store
    fi
    serve server app 7561 takes=1000:0.003,99999:0.012 asks=10.9.3.2:7562 task=orders
    serve router pool 7560 to=10.9.2.2:7561 size=24 task=front
}
traffic() { ask users 10.9.1.1 7560 9 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=24 gap=0.4; }
