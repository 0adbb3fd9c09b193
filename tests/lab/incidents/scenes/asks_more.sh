# kind: pair
# ticket: The same calls to 10.9.1.1:7347 take 8 ms, they took 1; the store behind it answers as quickly as before.
# planted: For each call it asks its store, 10.9.2.2:7348, 30 times in place of once.
# first: 10.9.1.1:7347
# first: 10.9.2.2:7348
# first: 30
plant() {
    serve server echo 7348
    serve router pool 7347 to=10.9.2.2:7348 size=3 asks="$([ "$side" = after ] && echo 30 || echo 1)"
}
traffic() { ask requests 10.9.1.1 7347 3 threads=2 gap=0.02; }
