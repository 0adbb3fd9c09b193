# ticket: Pages of 10.9.2.2:7611 take seconds from here; small answers are quick, and so are uploads.
# planted: Something on the way, which is 30 ms long, sets the window scale of SYNs to 0: the server takes its clients' windows for many times smaller than they are.
# first: 10.9.2.2:7611
# first: times too small
# first: window scale of 0
# page: something between them
plant() {
    serve server echo 7611
    delay 15 0
}
traffic() {
    ask requests 10.9.2.2 7611 8 down=4000 gap=0.05 threads=3 timeout=20 &
    ask requests 10.9.2.2 7611 8 up=60000 down=300 gap=0.2 threads=2
    wait
}
