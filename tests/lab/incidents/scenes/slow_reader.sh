# ticket: An upload to 10.9.2.2:7220 stands still again and again.
# planted: The reader sleeps 350 ms after each 1.5 MB; its receive buffer fills, the window is zero.
# first: slept in clock_nanosleep
# first: the peer's receive window
plant() { serve server sink 7220 receive_buffer=131072 every=1500000 pause=0.35; }
traffic() { ask bulk 10.9.2.2 7220 3; }
