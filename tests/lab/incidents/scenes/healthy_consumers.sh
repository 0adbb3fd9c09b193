# kind: healthy
# ticket: Please look whether all is well.
# planted: Nothing: workers ask a queue for jobs, and each has its answer when another client brings one, four a second; calls beside them.
# never: Something is wrong
# never: took p50
plant() {
    serve server jobs 7355
    serve server echo 7356
}
traffic() {
    ask jobs 10.9.2.2 7355 5 &
    ask requests 10.9.2.2 7356 5
    wait
}
