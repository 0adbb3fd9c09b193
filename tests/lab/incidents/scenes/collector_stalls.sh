# kind: pair
# ticket: Up to a tenth of the answers from 10.9.1.1:7540 takes 100 ms and more since the new release, the others take 6 ms as ever.
# planted: Both applications behind it report each request to a collector, 10.9.3.2:7543, and wait for its receipt; after, that stands still for 150 to 250 ms every 2 s.
# first: Worse
# first: 10.9.1.1:7540 | 10.9.3.2:7543
# page: 10.9.3.2:7543
plant() {
    third
    if [ "$side" = after ]; then
        serve other collector 7543 pause=0.2 spread=0.05 every=1.8 asleep=1 task=metrics
    else
        serve other collector 7543 pause=0 every=60 task=metrics
    fi
    serve server app 7541 takes=99999:0.005 log=10.9.3.2:7543 task=orders
    serve server app 7542 takes=99999:0.005 log=10.9.3.2:7543 task=orders
    serve router pool 7540 to=10.9.2.2:7541,10.9.2.2:7542 size=30 task=front
}
traffic() { ask users 10.9.1.1 7540 10 kinds=order:1:150-300:400-900 threads=40 gap=0.8; }
