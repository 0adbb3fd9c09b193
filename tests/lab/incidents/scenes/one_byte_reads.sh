# ticket: The new collector at 10.9.2.2:7227 takes 5 Mbit/s; the old one on the same machine took a Gbit/s.
# planted: It reads one byte with each recv().
# first: 1 byte | one byte
# first: read
plant() { serve server sink 7227 each=1; }
traffic() { ask bulk 10.9.2.2 7227 1; }
