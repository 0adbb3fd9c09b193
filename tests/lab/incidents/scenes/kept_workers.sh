# ticket: Visitors of 10.9.2.2:7354 wait a second or two for a page. The server is idle, and its own log says that each page took under a millisecond.
# planted: Four threads serve ten visitors. Each keeps its connection for 1 s after its answer, as the visitors do, and accepts no other meanwhile.
# first: lay unread until one of 4 threads (python3) was free
# first: keep-alive time-out
plant() { serve server echo 7354 workers=4 idle=1.0 defer=5; }
traffic() { ask visitors 10.9.2.2 7354 6; }
