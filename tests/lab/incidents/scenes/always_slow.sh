# ticket: Calls to 10.9.2.2:7345 take 70 ms since Monday; those to 10.9.2.2:7346 are quick, but for a few.
# planted: The one sleeps 70 ms before each answer, the other 150 ms before each 60th.
# first: 10.9.2.2:7345
# first: in the server
# first: asleep in clock_nanosleep
# page: 10.9.2.2:7346
plant() {
    serve server echo 7345 pause=0.07
    serve server echo 7346 pause=0.15 every=60
}
traffic() {
    ask requests 10.9.2.2 7346 4 gap=0.015 &
    ask requests 10.9.2.2 7345 4 gap=0.015
    wait
}
