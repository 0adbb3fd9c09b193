# kind: healthy
# ticket: Please look whether all is well.
# planted: Nothing: a client that waits for news, which come after a second or two, beside calls, and checks of health that end with a RST.
# never: Something is wrong
plant() {
    serve server echo 7350 pause=1.1
    serve server echo 7351
}
traffic() {
    ask requests 10.9.2.2 7350 4 threads=2 gap=0.01 timeout=9 &
    ask checks 10.9.2.2 7351 3 gap=0.2 &
    ask requests 10.9.2.2 7351 4
    wait
}
