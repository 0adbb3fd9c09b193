# ticket: Calls on the 10 connections to 10.9.2.2:7201 take 21 ms, often more; the old host needed 5. The service has four processes, and both hosts idle.
# planted: Of four processes with a listener each (SO_REUSEPORT) one gets all connections; it needs 3 ms for each call and takes one after the other.
# first: all 10 connections
# first: one thread | one process
plant() { serve server loop 7201 processes=4 pause=0.003; }
traffic() { ask requests 10.9.2.2 7201 3 threads=10 gap=0.004; }
