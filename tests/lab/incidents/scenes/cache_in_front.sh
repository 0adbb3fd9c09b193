# kind: pair
# ticket: After the rollout the store behind 10.9.1.1:7461 takes 80 ms where it took one. Who broke it?
# planted: Nobody: 10.9.1.1:7461 answers nine of ten requests out of a cache now, and asks 10.9.2.2:7462 for the tenth alone, which always took it 80 ms.
# first: 10.9.1.1:7461
# first: less
# never: 10.9.2.2:7462 take longer
# page: 0.1
plant() {
    serve server echo 7462 pause=0.08 large=3000
    serve router pool 7461 to=10.9.2.2:7462 size=3 each=10 cached="$([ "$side" = after ] && echo 1 || echo 0)"
}
traffic() { ask requests 10.9.1.1 7461 4 threads=2 gap=0.01; }
