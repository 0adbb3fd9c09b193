# ticket: The log shipper to 10.9.2.2:7212 sends 2 kB a second and 1700 packets.
# planted: It writes single bytes, without Nagle's algorithm.
# first: 1 byte of payload
# first: 10.9.2.2:7212
plant() { serve server sink 7212; }
traffic() { ask letters 10.9.2.2 7212 3; }
