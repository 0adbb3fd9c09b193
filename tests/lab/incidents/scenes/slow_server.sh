# ticket: Some calls to 10.9.2.2:7009 take 150 ms. Network or server?
# planted: The server sleeps 150 ms before each 40th answer.
# first: in the server
# first: asleep in clock_nanosleep
plant() { serve server echo 7009 pause=0.15 every=40; }
traffic() { ask requests 10.9.2.2 7009 3; }
