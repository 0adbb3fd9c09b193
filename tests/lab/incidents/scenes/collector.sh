# ticket: Every second or so all calls to 10.9.2.2:7342 hang together for 400 ms.
# planted: A thread of the server computes for 400 ms, as a garbage collector does, while all its other threads wait for it.
# first: 10.9.2.2:7342
# first: in the server
# first: python3
# first: all its threads | all its other threads | answered nobody
plant() { serve server collector 7342; }
traffic() { ask requests 10.9.2.2 7342 4 threads=6; }
