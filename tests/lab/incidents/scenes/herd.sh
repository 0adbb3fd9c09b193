# kind: pair
# ticket: Since the service at 10.9.2.2:7411 has more workers its answers take longer, with as many visitors; the host has two CPUs.
# planted: 60 workers in place of 4 wait for one listening socket; each connection wakes all of them.
# first: python3
# first: 60 threads
# first: thundering herd
workers=60
[ "$side" = before ] && workers=4
plant() { serve server herd 7411 workers=$workers; }
traffic() { ask requests 10.9.2.2 7411 4 new=1 gap=0.01; }
