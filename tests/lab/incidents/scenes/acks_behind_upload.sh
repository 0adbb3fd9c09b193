# ticket: The download from 10.9.2.2:7211 collapsed while somebody sent backups.
# planted: The line back is 1 Mbit/s with a queue of 60 kB at rs; an upload fills it for 3.5 s and the ACKs of the download wait in it.
# first: queue of rs (tbf)
# page: ACK
plant() {
    router tc qdisc add dev rs root tbf rate 1mbit burst 4kb limit 60000
    router tc qdisc add dev rc root tbf rate 20mbit burst 16kb limit 300000
    serve server source 7211
    serve server sink 7261
}
traffic() {
    (sleep 1.5; ask bulk 10.9.2.2 7261 3.5 congestion=cubic) &
    ask bulk 10.9.2.2 7211 5 reads=1
    wait
}
