# ticket: Each call to 10.9.2.2:7006 takes 40 ms; on the old client it took less than 1.
# planted: The client writes a request in two small parts with Nagle's algorithm on; the server delays its ACK.
# first: nagle
# page: Nagle
plant() { serve server echo 7006; }
traffic() { ask requests 10.9.2.2 7006 3 nagle=1; }
