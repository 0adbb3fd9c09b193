# ticket: The connection to 10.9.2.2:7228 is up in half a ms, and the server's greeting comes one second later, each time.
# planted: TCP_DEFER_ACCEPT (1 s) at a server that speaks first: the ACK that ends the handshake is ignored, the SYN-ACK sent again after 1 s.
# first: DEFER_ACCEPT | DeferAccept
# first: SYN-ACK
plant() { serve server echo 7228 defer=1 greet=16; }
traffic() { ask requests 10.9.2.2 7228 3 new=1 threads=3 greet=16 gap=0.05; }
