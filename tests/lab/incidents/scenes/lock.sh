# ticket: Calls of all clients to 10.9.2.2:7114 hang for up to 120 ms at once.
# planted: Each 40th call holds a lock of the server for 120 ms while its thread sleeps; the threads of the others wait for the lock.
# first: in the server
# first: woken by threads named python3
plant() { serve server echo 7114 lock=1 pause=0.12 every=40; }
traffic() { ask requests 10.9.2.2 7114 3 threads=4; }
