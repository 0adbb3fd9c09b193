# ticket: Since a hiccup of the server no call to 10.9.2.2:7340 succeeds, and it does not recover, though it answers 50 requests each second and only 36 are wanted.
# planted: Four workers take 80 ms for a request (300 ms for one second). Its client gives up after 250 ms and tries again, four times, so that they work for clients that have gone.
# first: 10.9.2.2:7340
# first: given up | gave up
# page: 250. | 251. | 252.
plant() { serve server queue 7340; }
traffic() { ask storm 10.9.2.2 7340 4; }
