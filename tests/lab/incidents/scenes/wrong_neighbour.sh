# ticket: Calls to 10.9.2.2:7010 hung for half a second, once.
# planted: For 400 ms the server has a wrong link-layer address for the router.
# first: another link-layer address
# first: 10.9.2.1
plant() { serve server echo 7010; }
traffic() {
    (
        sleep 1
        server ip neigh replace 10.9.2.1 lladdr 02:00:00:00:00:99 dev s0 nud permanent
        sleep 0.4
        server ip neigh del 10.9.2.1 dev s0
    ) &
    ask requests 10.9.2.2 7010 3
    wait
}
