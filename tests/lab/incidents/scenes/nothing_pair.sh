# kind: harmless
# ticket: A rollout changed nothing that we know of. Is anything different?
# planted: Nothing: three services, users who come at random, and the same on both sides.
# never: Worse
# never: Better
plant() {
    third
    serve server app 7536 takes=1000:0.003,99999:0.012 task=stock
    serve server app 7537 takes=99999:0.02 task=search
    serve other app 7538 takes=500:0.002,99999:0.03 task=mail
    serve router pool 7535 to=10.9.2.2:7536 size=10 task=shop
}
traffic() {
    ask users 10.9.1.1 7535 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=8 gap=0.2 &
    ask users 10.9.2.2 7537 8 kinds=search:1:100-200:300-3000 threads=4 gap=0.2 &
    ask users 10.9.3.2 7538 8 kinds=send:1:400-2000:200,inbox:1:100:2000-9000 threads=3 gap=0.2
    wait
}
