# kind: harmless
# ticket: The server behind the front, 10.9.2.2:7521, needs three times as long since its new release. Do users feel it?
# planted: No: the front, 10.9.1.1:7520, answers all of them out of its cache in 4 ms, and fetches anew behind their backs, which takes 75 ms in place of 25.
# never: Worse
# never: Better
plant() {
    serve server app 7521 takes="99999:$([ "$side" = after ] && echo 0.075 || echo 0.025)" task=catalog
    serve router cache 7520 to=10.9.2.2:7521 size=8 keep=0.8 behind=1 pause=0.004 task=front
    # All 40 pages are in the cache before anything is recorded.
    ask users 10.9.1.1 7520 5 kinds=page:1:200:2000/100 threads=10 gap=0.05 > /dev/null
}
traffic() { ask users 10.9.1.1 7520 8 kinds=page:1:150-250:2000/100 threads=10 gap=0.12; }
