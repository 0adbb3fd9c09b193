# ticket: Calls to 10.9.2.2:7353 hang for 400 ms now and then, several at once. The server is idle meanwhile.
# planted: One client takes a lock of the server with a request, does nothing for 400 ms, and gives it back with the next.
# first: waited until python3
# first: as an open transaction does
plant() { serve server transactions 7353; }
traffic() { ask transactions 10.9.2.2 7353 4; }
