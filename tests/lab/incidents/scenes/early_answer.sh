# ticket: Uploads to 10.9.2.2:7403 fail with "connection reset by peer"; nobody sees an answer of the server. Small requests work.
# planted: The server answers requests of more than 100 kB at once (too large) and closes with the rest unread.
# first: 10.9.2.2:7403
# first: unread
# first: answers and closes before it has the whole request
plant() {
    serve server echo 7403 limit=100000
}
traffic() {
    ask requests 10.9.2.2 7403 5 gap=0.02 &
    ask requests 10.9.2.2 7403 5 up=3000000 gap=0.1 new=1
    wait
}
