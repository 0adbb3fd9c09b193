# ticket: Calls over the edge 10.9.1.1:7360 hang for half a second now and then, several at once. Nothing between there and the store is busy.
# planted: Edge, application and store stand behind one another. A job takes a lock of the store, asks a slow partner, 10.9.3.2:8071, for 450 ms, and then gives it back.
# first: 10.9.2.2:7361
# first: 10.9.3.2:5433
# first: waited until python3
# first: 10.9.3.2:8071
plant() {
    third
    serve other transactions 5433
    serve other echo 8071 pause=0.45
    serve server pool 7361 to=10.9.3.2:5433 size=6
    serve router proxy 7360 to=10.9.2.2:7361
}
traffic() {
    ask transactions 10.9.3.2 5433 4 threads=1 asks=10.9.3.2:8071 gap=0.6 &
    ask requests 10.9.1.1 7360 4 threads=4 gap=0.02
    wait $!
}
