# kind: pair
# ticket: The same calls to 10.9.2.2:7203 take 62 ms, they took 21.
# planted: The server has 2 worker threads in place of 8: connections wait in the accept queue.
# first: take longer
# first: unread
# page: unread | accept
plant() { serve server echo 7203 workers="$([ "$side" = after ] && echo 2 || echo 8)" pause=0.02; }
traffic() { ask requests 10.9.2.2 7203 3 new=1 gap=0.02 threads=8; }
