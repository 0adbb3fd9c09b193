# ticket: The batch host 10.9.1.2 waits half a second for every page of 10.9.2.2:7430; five other hosts have theirs at once, and nginx idles.
# planted: nginx, `limit_req` without `nodelay`: 20 requests a second for each address, above that they wait their turn; only 10.9.1.2 asks for more.
# first: 10.9.2.2:7430
# first: 10.9.1.2
# first: 20.0 a second | 19.9 a second | 20.1 a second | 20 a second | 20/s
# first: rate limit | holds back | limit_req
plant() {
    command -v nginx > /dev/null || cannot "no nginx"
    mkdir -p "$dir/nginx"
    head -c 400 /dev/zero | tr '\0' p > "$dir/nginx/page"
    cat > "$dir/nginx/nginx.conf" << NGINX
user root;
worker_processes 1;
pid $dir/nginx/pid;
error_log /dev/null;
events {}
http {
    log_format which '\$remote_addr \$limit_req_status';
    access_log $dir/nginx/log which buffer=64k flush=500ms;
    limit_req_zone \$binary_remote_addr zone=each:1m rate=20r/s;
    server {
        listen 10.9.2.2:7430;
        location / {
            root $dir/nginx;
            limit_req zone=each burst=100;
        }
    }
}
NGINX
    third
    for n in 3 4 5 6; do other ip addr add "10.9.3.$n/24" dev d0; done
    server nginx -e /dev/null -p "$dir/nginx" -c "$dir/nginx/nginx.conf" -g 'daemon off;' &
    sleep 0.5
}
# pages ADDRESS THREADS GAP: what a client there sees
pages() {
    python3 - "$@" << 'PY'
import socket, sys, threading, time
address, threads, gap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
end, took = time.time() + 4, []
def ask():
    s = socket.create_connection(("10.9.2.2", 7430), 3, (address, 0))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.settimeout(9)
    while time.time() < end:
        began, answer = time.time(), b""
        s.sendall(b"GET /page HTTP/1.1\r\nHost: pages\r\n\r\n")
        while answer.count(b"p") < 400 or not answer.endswith(b"p" * 400):
            answer += s.recv(65536)
        took.append(time.time() - began)
        time.sleep(gap)
all = [threading.Thread(target=ask) for _ in range(threads)]
[t.start() for t in all]
[t.join() for t in all]
took.sort()
print(address, "n", len(took), "p50 %.1f max %.1f ms" % (1e3 * took[len(took) // 2], 1e3 * took[-1]), flush=True)
PY
}
traffic() {
    export -f pages
    for n in 2 3 4 5 6; do other bash -c "pages 10.9.3.$n 1 0.08" & done
    client bash -c "pages 10.9.1.2 10 0"
    wait
    sleep 0.7
    sort "$dir/nginx/log" | uniq -c
    rm -r "$dir/nginx"
}
