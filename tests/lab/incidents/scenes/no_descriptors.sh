# ticket: Some devices get no answer from the broker at 10.9.2.2:7402, though they connect; others work on.
# planted: The broker may have 40 descriptors; 60 devices stay connected.
# first: could not accept
# first: EMFILE
# first: port 7402
plant() { serve server echo 7402 files=40; }
traffic() { ask requests 10.9.2.2 7402 5 gap=0.3 threads=60 timeout=2; }
