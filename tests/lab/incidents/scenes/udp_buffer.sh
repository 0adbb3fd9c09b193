# ticket: The collector at 10.9.2.2:5353 (UDP) misses a quarter of its datagrams.
# planted: A receive buffer of 8 kB, and a reader that sleeps 10 ms after each 20th datagram.
# first: SOCKET_RCVBUFF
# first: python3
plant() { serve server datagrams 5353 receive_buffer=8192 pause=0.01 every=20; }
traffic() { ask datagrams 10.9.2.2 5353 3 size=600 gap=0.0004; }
