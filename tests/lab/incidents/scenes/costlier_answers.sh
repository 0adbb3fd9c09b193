# kind: pair
# ticket: New connections to 10.9.2.2:7349 need 20 ms until the first answer, they needed 3.
# planted: The server computes for 15 ms before it answers (as for a longer key), in place of 1.
# first: 10.9.2.2:7349
# first: in the server
# first: CPU | running | computed
plant() { serve server echo 7349 cpu="$([ "$side" = after ] && echo 0.015 || echo 0.001)" once=1; }
traffic() { ask requests 10.9.2.2 7349 3 new=1 gap=0.04; }
