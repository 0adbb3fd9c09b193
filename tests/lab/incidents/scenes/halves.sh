# ticket: Answers from 10.9.2.2:7115 come 40 ms late, says the client; the server says it answers at once.
# planted: The server writes each answer in two small parts with Nagle's algorithm on; the client delays its ACK.
# first: Nagle
# first: last byte
plant() { serve server echo 7115 halves=1; }
traffic() { ask requests 10.9.2.2 7115 3 gap=0.002; }
