# ticket: One in three calls of the pool to 10.9.2.2:7202 fails with `connection closed`.
# planted: The server closes what is idle for 400 ms; the pool does not look, and sends on it.
# first: already closed itself
# first: 10.9.2.2:7202
plant() { serve server echo 7202 idle=0.4; }
traffic() { ask pool 10.9.2.2 7202 3.5; }
