# kind: harmless
# ticket: Since the campaign twice as many requests come in. Is anybody served worse than before?
# planted: Nobody: users of the shop, 10.9.1.1:7500, of 10.9.2.2:7502 and of 10.9.3.2:7503 ask twice as often, and each kind of request is answered as quickly as before.
# never: Worse
# never: Better
plant() {
    third
    serve server app 7501 takes=1000:0.003,99999:0.012 task=stock
    serve server app 7502 takes=99999:0.006 task=search
    serve other app 7503 takes=99999:0.009 task=mail
    serve router pool 7500 to=10.9.2.2:7501 size=10 task=shop
}
traffic() {
    local gap=0.4
    [ "$side" = after ] && gap=0.2
    ask users 10.9.1.1 7500 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=8 gap=$gap &
    ask users 10.9.2.2 7502 8 kinds=search:1:100-200:300-3000 threads=5 gap=$gap &
    ask users 10.9.3.2 7503 8 kinds=mail:1:400-2000:200 threads=3 gap=$gap
    wait
}
