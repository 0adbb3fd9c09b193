# kind: pair
# ticket: Exports of 10.9.2.2:7565 take 50 ms since the release, they took 25; what else it answers is as quick as ever.
# planted: The server takes twice as long for answers of more than 20 kB, which are one of three kinds of requests.
# first: Worse
# first: 10.9.2.2:7565
# page: large | kB | KiB | bytes
plant() { serve server app 7565 takes="1000:0.002,20000:0.008,999999:$([ "$side" = after ] && echo 0.05 || echo 0.025)" task=books; }
traffic() {
    ask users 10.9.2.2 7565 9 kinds=order:5:150-300:400-900,list:3:150-300:9000-14000,export:2:150-300:40000-60000 threads=8 gap=0.12
}
