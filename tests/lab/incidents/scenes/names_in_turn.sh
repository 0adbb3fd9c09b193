# ticket: Each job needs a second before it calls 10.9.2.2:7341, and that service answers in less than a millisecond.
# planted: Its resolver has a search list: five questions to 10.9.2.3, one after the other, and for the fourth the name server asks 10.9.3.2, which takes 150 ms.
# first: 10.9.2.3:53
# first: 5 times, one after the other
# page: 10.9.3.2:53
plant() {
    name_server 0.15 5
    serve server echo 7341
}
traffic() { ask searches 10.9.2.2 7341 4 resolver=10.9.2.3; }
