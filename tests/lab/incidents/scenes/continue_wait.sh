# ticket: Uploads to 10.9.2.2:7351 take most of a second; the server says that it answers each in milliseconds.
# planted: Its clients send the head of a request, wait 700 ms for a word that never comes, and then send the rest.
# first: sent in parts
# first: 10.9.2.2:7351
# first: 700. | 701. | 702. | 703.
plant() { serve server echo 7351; }
traffic() { ask uploads 10.9.2.2 7351 4; }
