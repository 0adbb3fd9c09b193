# ticket: Each seventh call to 10.9.2.2:7377 takes 90 ms. Its program has a thread that reads, workers, and a thread that sends; all of them sleep, and it is idle.
# planted: Its workers ask a store, 10.9.3.2:5436, which sleeps 90 ms before each seventh answer.
# first: 10.9.3.2:5436
# first: other threads of the process
# first: asleep in clock_nanosleep
plant() {
    third
    serve other echo 5436 pause=0.09 every=7
    serve server handed 7377 to=10.9.3.2:5436 size=6
}
traffic() { ask requests 10.9.2.2 7377 4 threads=4 gap=0.01; }
