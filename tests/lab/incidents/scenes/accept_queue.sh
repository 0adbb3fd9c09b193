# ticket: After the deployment at 10.9.2.2:7201 all clients reconnected, and it took seconds.
# planted: 60 clients connect again in the same moment; listen(16), and 15 ms between two accepts.
# first: full accept queue
plant() { serve server echo 7201 backlog=16 accept=0.015; }
traffic() { ask herd 10.9.2.2 7201 5; }
