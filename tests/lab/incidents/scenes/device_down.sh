# ticket: Twice all calls to 10.9.2.2:7334 hung for 0.85 s. The server was neither restarted nor loaded.
# planted: The router's device rs was down for 0.46 s, twice: no route meanwhile.
# first: 10.9.2.2:7334
# first: no route
# first: 2 times | twice
plant() { serve server echo 7334; }
traffic() {
    (for _ in 1 2; do
        sleep 1
        router ip link set rs down
        sleep 0.45
        router ip link set rs up
    done) &
    ask requests 10.9.2.2 7334 4 gap=0.008 threads=2
    wait
}
