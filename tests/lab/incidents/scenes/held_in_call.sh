# ticket: The shop at 10.9.1.1:7445 is slow since the campaign: its catalogue takes half a second where the database answers in less than one ms, and it is idle.
# planted: The shop has four connections to the database 10.9.2.2:7443; an order keeps one of them while it asks the payment service 10.9.3.2:7444, 300 ms.
# first: 4 to 10.9.3.2:7444
# first: kept one of its 4 connections to 10.9.2.2:7443
plant() {
    third
    serve server echo 7443
    serve other echo 7444 pause=0.3
    serve router pool 7445 to=10.9.2.2:7443 size=4 meanwhile=10.9.3.2:7444 task=shop
}
traffic() {
    ask requests 10.9.1.1 7445 6 up=300 threads=6 gap=0.05 &
    ask requests 10.9.1.1 7445 6 up=100 threads=6 gap=0.05
    wait
}
