# kind: harmless
# ticket: Last night a server of the pool was replaced. Is anything slower?
# planted: Nothing: of three servers behind 10.9.1.1:7526 one, 10.9.2.2:7529, is replaced by 10.9.3.2:7530, as quick; the front is started anew, all connections are new.
# never: Worse
# never: Better
plant() {
    third
    for port in 7527 7528 7529; do serve server app $port takes=1000:0.004,99999:0.015 task=app; done
    serve other app 7530 takes=1000:0.004,99999:0.015 task=app
    [ "$side" = after ] || serve router pool 7526 to=10.9.2.2:7527,10.9.2.2:7528,10.9.2.2:7529 size=12 task=front
}
traffic() {
    [ "$side" = after ] && serve router pool 7526 to=10.9.2.2:7527,10.9.2.2:7528,10.9.3.2:7530 size=12 task=front
    ask users 10.9.1.1 7526 8 kinds=page:3:150-300:400-900,list:1:150-300:9000-14000 threads=10 gap=0.13
}
