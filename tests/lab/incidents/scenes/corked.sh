# ticket: Every answer of the statement service takes a fifth of a second; its own log says under a millisecond.
# planted: The server sets TCP_CORK on its sockets and never takes it off.
# first: 10.9.2.2:7401
# first: TCP_CORK
# first: own socket
plant() { serve server echo 7401 cork=1; }
traffic() { ask requests 10.9.2.2 7401 5 down=1700 gap=0.03 threads=3; }
