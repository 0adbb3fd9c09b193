#!/usr/bin/env python3
"""Clients and servers of the planted incidents; clients print what their own stopwatch saw.

traffic.py serve KIND PORT [option=value ...]           a server
traffic.py KIND HOST PORT SECONDS [option=value ...]    a client

A request over TCP is a header of 16 digits (bytes that follow, bytes of the answer wanted), then the bytes. Options are those
that the functions below take.
"""
import collections
import os
import random
import resource
import select
import socket
import struct
import subprocess
import sys
import threading
import time


def receive(s, n):
    got = 0
    while got < n:
        part = s.recv(min(n - got, 65536))
        if not part:
            raise EOFError("closed by the peer")
        got += len(part)


def header(s):
    got = b""
    while len(got) < 16:
        part = s.recv(16 - len(got))
        if not part:
            raise EOFError("closed by the peer")
        got += part
    return int(got[:8]), int(got[8:])


def no_delay(s, on=1):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, on)


def name_question(n):
    """To a name server: the address of api.corp."""
    return struct.pack(">6H", n, 256, 1, 0, 0, 0) + b"\3api\4corp\0\0\1\0\1"


def burn(seconds):
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        pass


# Servers


def serve_echo(port, address="", idle=0.0, pause=0.0, every=1, cpu=0.0, lock=0, halves=0, workers=0, accept=0.0, backlog=128, defer=0, greet=0, once=0, cork=0,
               limit=0, files=0, large=0, child=0.0):
    """Answers requests. idle: closes a connection that was silent for so long. pause: sleeps before each `every`th answer; with lock,
    while it holds a lock that all answers take. cpu: computes before each answer. halves: an answer in two writes, with Nagle. workers: so
    many threads, each serves a connection to its end. accept: sleeps before each accept. defer: TCP_DEFER_ACCEPT, seconds. greet: sends so many
    bytes before it reads. once: closes after its first answer. cork: TCP_CORK, never taken off. limit: to a request of more bytes it answers at once
    that it is too long, and closes. files: so many descriptors it may have. large: the pause is before answers of more bytes alone. child: starts a process
    behind each answer, which lives so long and keeps the connection's descriptor."""
    held = threading.Lock()
    calls = [0]

    def answer(c):
        try:
            no_delay(c, 0 if halves else 1)
            if cork:
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            c.settimeout(idle or None)
            c.sendall(b"g" * greet)
            while True:
                up, down = header(c)
                if limit and up > limit:
                    c.sendall(b"t" * 200)
                    raise EOFError("too long")
                receive(c, up)
                calls[0] += 1
                if cpu:
                    burn(cpu)
                if lock:
                    with held:
                        if calls[0] % every == 0:
                            time.sleep(pause)
                elif pause and calls[0] % every == 0 and down >= large:
                    time.sleep(pause)
                if halves:
                    c.sendall(b"r" * (down // 4))
                c.sendall(b"r" * (down - down // 4 if halves else down))
                if child:
                    c.set_inheritable(True)
                    subprocess.Popen(["sleep", str(child)], close_fds=False)
                if once:
                    raise EOFError("one answer")
        except (OSError, EOFError):
            c.close()

    both = ":" in address
    family = socket.AF_INET6 if both else socket.AF_INET
    listener = socket.create_server((address, port), backlog=backlog, family=family, dualstack_ipv6=both)
    if defer:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, defer)

    def work():
        while True:
            answer(listener.accept()[0])

    if workers:
        for _ in range(workers):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(60)
    if files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    while True:
        time.sleep(accept)
        try:
            c = listener.accept()[0]
        except OSError:
            time.sleep(0.05)
            continue
        threading.Thread(target=answer, args=(c,), daemon=True).start()


def each_request(port):
    """Requests of all connections to a port, read by one thread: socket, bytes that came, bytes of the answer wanted."""
    listener = socket.create_server(("", port), backlog=128)
    poll, sockets = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                s, _ = listener.accept()
                no_delay(s)
                sockets[s.fileno()] = s
                poll.register(s, select.EPOLLIN)
                continue
            s = sockets[number]
            try:
                up, down = header(s)
                receive(s, up)
            except (EOFError, OSError):
                poll.unregister(s)
                del sockets[number]
                s.close()
                continue
            yield s, up, down


def serve_jobs(port):
    """A queue, in one thread: a request of 1 byte takes a job and is answered when there is one, one of more bytes brings one."""
    waiting, jobs = collections.deque(), 0
    for s, up, down in each_request(port):
        if up == 1:
            waiting.append((s, down))
        else:
            jobs += 1
            s.sendall(b"k" * down)
        while jobs and waiting:
            taker, size = waiting.popleft()
            taker.sendall(b"j" * size)
            jobs -= 1


def serve_transactions(port):
    """Answers requests under a lock. One of 1 byte takes it and keeps it, one of 2 bytes gives it back."""
    held = threading.Lock()

    def answer(c):
        try:
            no_delay(c)
            while True:
                up, down = header(c)
                receive(c, up)
                if up != 2:
                    held.acquire()
                if up != 1:
                    held.release()
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    listener = socket.create_server(("", port))
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def serve_sink(port, receive_buffer=0, every=0, pause=0.0, each=0, reads=0.0, still=0.0):
    """Reads; sleeps after each `every` bytes. each: so many bytes with each call, for ever. still: reads for `reads` seconds, and then nothing for so long."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if receive_buffer:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    listener.bind(("", port))
    listener.listen()

    def read(c):
        try:
            while each and c.recv(each):
                pass
            while still and c.recv(65536):
                if time.time() % (reads + still) > reads:
                    time.sleep(reads + still - time.time() % (reads + still))
            while True:
                receive(c, every or 65536)
                time.sleep(pause)
        except (OSError, EOFError):
            c.close()

    while True:
        threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()


def serve_source(port):
    """Sends as fast as it can."""
    listener = socket.create_server(("", port))

    def send(c):
        try:
            while True:
                c.sendall(b"d" * 65536)
        except OSError:
            c.close()

    while True:
        threading.Thread(target=send, args=(listener.accept()[0],), daemon=True).start()


def serve_copies(port, size=40000000, limit=0.0, chunk=16384):
    """Sends each that asks a whole copy, and closes. limit: after so many seconds it cuts off a reader whose socket is full."""
    listener = socket.create_server(("", port))

    def copy(c):
        try:
            receive(c, 100)
            c.setblocking(False)
            left, began = size, time.time()
            while left > 0:
                part = min(chunk, left)
                try:
                    n = c.send(b"c" * part)
                except BlockingIOError:
                    n = 0
                left -= n
                if n < part and limit and time.time() - began > limit:
                    break
                if n < part:
                    select.select([], [c], [], 1)
        except (OSError, EOFError):
            pass
        c.close()

    while True:
        threading.Thread(target=copy, args=(listener.accept()[0],), daemon=True).start()


def serve_feed(port, large=1000000, every=1.0, tick=0.05, send_buffer=2000000):
    """Sends on each connection: a small message each `tick`, with the time, and a large one each `every` seconds."""

    def feed(c):
        no_delay(c)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        started = large_at = time.time()
        try:
            for n in range(100000):
                time.sleep(max(0.0, started + n * tick - time.time()))
                if time.time() > large_at:
                    large_at += every
                    c.sendall(b"%08d%08d" % (large, 0) + b"l" * large)
                c.sendall(b"%08d%08d" % (64, time.time() * 1000 % 1e8) + b"t" * 64)
        except OSError:
            c.close()

    listener = socket.create_server(("", port), backlog=16)
    while True:
        threading.Thread(target=feed, args=(listener.accept()[0],), daemon=True).start()


def serve_proxy(port, to="", pause=0.0, every=1, down_each=0.0, down_for=0.0):
    """Hands requests on in one thread; sleeps before each `every`th, as if it wrote its log. Holds its server for dead at the end of each
    `down_each` seconds for `down_for`: then it answers by itself."""
    import selectors

    host, at = to.rsplit(":", 1)
    wait, calls = selectors.DefaultSelector(), 0
    listener = socket.create_server(("", port))
    wait.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in wait.select():
            if key.fileobj is listener:
                near, far = listener.accept()[0], socket.create_connection((host, int(at)))
                for a, b in ((near, (far, True)), (far, (near, False))):
                    no_delay(a)
                    wait.register(a, selectors.EVENT_READ, b)
                continue
            peer, request = key.data
            data = key.fileobj.recv(65536)
            if not data:
                wait.unregister(key.fileobj)
                key.fileobj.close()
                continue
            calls += request
            if request and down_each and time.time() % down_each > down_each - down_for:
                key.fileobj.sendall(b"e" * int(data[8:16]))
                continue
            if request and calls % every == 0:
                time.sleep(pause)
            peer.sendall(data)


def serve_pool(port, to="", size=1, asks=1, each=0, cached=0, resolver="", names=0, meanwhile="", timeout=0.0):
    """Hands requests on, each so many times (asks), over so many connections, which the threads of its clients share. each: of so many one needs
    a long answer; cached: the others it answers by itself. names: asks the resolver for so many first, one after the other. meanwhile: for requests of more than
    250 bytes it asks there, too, while it has a connection, and on this once more behind that. Of several servers (to=A,B) each has its share of the
    connections. timeout: what has no answer after so long is given up; who asked is told so by 100 bytes and a close."""
    import queue

    calls = [0]

    servers = [name.rsplit(":", 1) for name in to.split(",")]
    free = queue.Queue()

    def reach(n):
        host, at = servers[n % len(servers)]
        far = connect(host, int(at))
        far.settimeout(timeout or None)
        free.put(far)

    for n in range(size):
        reach(n)

    def hand_on(c):
        no_delay(c)
        at, port = meanwhile.rsplit(":", 1) if meanwhile else ("", "0")
        aside = connect(at, int(port)) if meanwhile else None
        try:
            while True:
                up, down = header(c)
                receive(c, up)
                calls[0] += 1
                for n in range(names):
                    look_up(resolver, n)
                long = each and calls[0] % each == 0
                if long or not cached:
                    far = free.get()
                    for _ in range(asks):
                        try:
                            call(far, up, 30 * down if long else down)
                        except TimeoutError:
                            far.close()
                            c.sendall(b"t" * 100)
                            reach(calls[0])
                            raise
                    if aside and up > 250:
                        call(aside, up, down)
                        call(far, up, down)
                    free.put(far)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    listener = socket.create_server(("", port))
    while True:
        threading.Thread(target=hand_on, args=(listener.accept()[0],), daemon=True).start()


def serve_handed(port, to="", size=4):
    """Hands requests from thread to thread: one reads all of them, others ask `to`, each over a connection of its own, and one more sends all answers."""
    import queue

    asked, done = queue.Queue(), queue.Queue()
    host, at = to.rsplit(":", 1)

    def ask():
        far = connect(host, int(at))
        while True:
            c, up, down = asked.get()
            call(far, up, down)
            done.put((c, down))

    def answer():
        while True:
            c, down = done.get()
            c.sendall(b"r" * down)

    for work in [ask] * size + [answer]:
        threading.Thread(target=work, daemon=True).start()
    for request in each_request(port):
        asked.put(request)


def serve_forks(port, resolver="", timeout=0.3, tries=2):
    """Starts a process for each connection, which asks the resolver for the name of its client before it reads anything, and goes on without an answer."""
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.create_server(("", port))
    while True:
        c, _ = listener.accept()
        if os.fork():
            c.close()
            continue
        listener.close()
        no_delay(c)
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        u.connect((resolver, 53))
        answered = select.poll()
        answered.register(u, select.POLLIN)
        for n in range(tries):
            u.send(name_question(n))
            if answered.poll(1000 * timeout):
                break
        u.close()
        try:
            while True:
                up, down = header(c)
                receive(c, up)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            os._exit(0)


def serve_retries(port, to="", timeout=10.0, tries=1):
    """Hands each request on to the next of several servers, on a connection of its own; one that has no answer in time is given up, and asked of the next."""
    import itertools

    servers = itertools.cycle(to.split(","))

    def hand_on(c):
        try:
            no_delay(c)
            up, down = header(c)
            receive(c, up)
            for _ in range(tries):
                host, at = next(servers).rsplit(":", 1)
                try:
                    with connect(host, int(at), timeout=timeout) as far:
                        call(far, up, down)
                        break
                except (OSError, EOFError):
                    pass
            c.sendall(b"r" * down)
        except (OSError, EOFError):
            pass
        c.close()

    listener = socket.create_server(("", port), backlog=512)
    while True:
        threading.Thread(target=hand_on, args=(listener.accept()[0],), daemon=True).start()


def serve_queue(port, workers=4, pause=0.08, slow_at=1.0, slow_for=1.0, slow=0.3, large=0, long=0.0):
    """Reads requests as they come, and lets so many workers answer them in turn; for a time, counted from the first, each takes longer. large: answers of
    more bytes take `long`."""
    import queue

    due, first = queue.Queue(), []

    def work():
        while True:
            c, down = due.get()
            since = time.time() - first[0]
            usual = long if large and down > large else pause
            time.sleep(slow if slow_at < since < slow_at + slow_for else usual)
            try:
                c.sendall(b"r" * down)
            except OSError:
                pass
            c.close()

    def read(c):
        try:
            up, down = header(c)
            receive(c, up)
            first.append(time.time())
            due.put((c, down))
        except (OSError, EOFError):
            c.close()

    for _ in range(workers):
        threading.Thread(target=work, daemon=True).start()
    listener = socket.create_server(("", port), backlog=512)
    while True:
        threading.Thread(target=read, args=(listener.accept()[0],), daemon=True).start()


def serve_collector(port, pause=0.4, every=1.3, asleep=0, spread=0.0):
    """Answers requests, but now and then a thread of its own computes for so long (asleep: sleeps; spread: up to so much more or less), and the others
    may do nothing meanwhile."""
    held = threading.Lock()

    def answer(c):
        no_delay(c)
        try:
            while True:
                up, down = header(c)
                receive(c, up)
                with held:
                    c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    def collect():
        while True:
            time.sleep(every)
            long = pause + random.uniform(-spread, spread)
            with held:
                time.sleep(long) if asleep else burn(long)

    threading.Thread(target=collect, daemon=True).start()
    listener = socket.create_server(("", port))
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def serve_app(port, takes="", asks="", log="", sink="", line=4000):
    """An application. takes: BYTES:SECONDS,...: an answer of up to so many bytes takes about so long. asks: a store that it asks for each request. log: a
    collector to which it reports each and waits for the receipt. sink: reads its log, `line` bytes for each request, which it writes before it answers,
    over one connection that all its threads share."""
    steps = [(int(step.split(":")[0]), float(step.split(":")[1])) for step in takes.split(",") if step]
    writes, held = None, threading.Lock()
    if sink:
        writes = socket.socket()
        writes.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        writes.connect((sink.rsplit(":", 1)[0], int(sink.rsplit(":", 1)[1])))

    def answer(c):
        # Each thread has its own connections to the store and to the collector, which stay.
        far = [connect(name.rsplit(":", 1)[0], int(name.rsplit(":", 1)[1])) for name in (asks, log) if name]
        try:
            no_delay(c)
            while True:
                up, down = header(c)
                receive(c, up)
                time.sleep(next((long for most, long in steps if down <= most), 0.0) * random.uniform(0.9, 1.1))
                for s in far:
                    call(s)
                if writes:
                    with held:
                        writes.sendall(b"l" * line)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    listener = socket.create_server(("", port), backlog=128)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def serve_cache(port, to="", size=8, keep=0.0, behind=0, pause=0.0):
    """Hands requests on over `size` connections, and keeps each answer (those of one size are one) for so long: others are answered with that meanwhile.
    behind: who asks for one that is too old has it all the same, and a thread of the cache's own fetches it anew. pause: what it needs for each answer itself."""
    import queue

    free, due, fetched, asked = queue.Queue(), queue.Queue(), {}, set()
    for _ in range(size):
        free.put(connect(to.rsplit(":", 1)[0], int(to.rsplit(":", 1)[1]), timeout=30.0))

    def fetch(up, down):
        far = free.get()
        call(far, up, down)
        free.put(far)
        fetched[down] = time.time()

    def refresh():
        while True:
            up, down = due.get()
            fetch(up, down)
            asked.discard(down)

    def answer(c):
        try:
            no_delay(c)
            while True:
                up, down = header(c)
                receive(c, up)
                if time.time() - fetched.get(down, 0) > keep:
                    if not behind or down not in fetched:
                        fetch(up, down)
                    elif down not in asked:
                        asked.add(down)
                        due.put((up, down))
                time.sleep(pause)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    for _ in range(size if behind else 0):
        threading.Thread(target=refresh, daemon=True).start()
    listener = socket.create_server(("", port), backlog=128)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def serve_log(port, path=""):
    """Writes a block to its log before each answer, and waits until the disk has it."""
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def answer(c):
        no_delay(c)
        try:
            while True:
                up, down = header(c)
                receive(c, up)
                os.write(log, b"l" * 4096)
                os.fdatasync(log)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()

    listener = socket.create_server(("", port))
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def serve_herd(port, workers=40):
    """So many processes that wait for one listening socket, as pre-forking servers do; each serves a connection to its end."""
    listener = socket.create_server(("", port), backlog=64)
    listener.setblocking(False)
    for _ in range(workers - 1):
        if os.fork() == 0:
            break
    while True:
        select.select([listener], [], [])
        try:
            c = listener.accept()[0]
        except BlockingIOError:
            continue
        try:
            c.setblocking(True)
            while True:
                up, down = header(c)
                receive(c, up)
                c.sendall(b"r" * down)
        except (OSError, EOFError):
            c.close()


def serve_loop(port, processes=1, pause=0.0, send_buffer=0):
    """One event loop. pause: sleeps before each answer. send_buffer: of answers, which it writes in one blocking call. processes: so many, each
    with a listener of its own, but the kernel gives each connection to the one that the client's address chooses."""
    import ctypes
    import selectors

    def listening():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if processes > 1:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("", port))
        listener.listen()
        return listener

    listeners = [listening() for _ in range(processes)]
    if processes > 1:
        # Classic BPF: the source address modulo their number.
        code = [(0x20, 0xFFF0000C), (0x94, processes), (0x16, 0)]
        program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", op, 0, 0, k) for op, k in code))
        attach = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
        listeners[0].setsockopt(socket.SOL_SOCKET, 51, attach)
    nth = next((k for k in range(1, processes) if os.fork() == 0), 0)
    listener = listeners.pop(nth)
    for other in listeners:
        other.close()
    wait = selectors.DefaultSelector()
    wait.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in wait.select():
            c = key.fileobj
            if c is listener:
                c = listener.accept()[0]
                no_delay(c)
                if send_buffer:
                    c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
                wait.register(c, selectors.EVENT_READ)
                continue
            try:
                up, down = header(c)
                receive(c, up)
                time.sleep(pause)
                c.sendall(b"r" * down)
            except (OSError, EOFError):
                wait.unregister(c)
                c.close()


def serve_edge(port, chunk=4096):
    """One event loop, edge-triggered, that reads once at each event: of what is longer the rest stays until more comes."""
    listener = socket.create_server(("", port))
    wait = select.epoll()
    wait.register(listener, select.EPOLLIN)
    clients, held = {}, {}
    while True:
        for fd, _ in wait.poll():
            if fd == listener.fileno():
                c = listener.accept()[0]
                c.setblocking(False)
                no_delay(c)
                wait.register(c, select.EPOLLIN | select.EPOLLET)
                clients[c.fileno()], held[c.fileno()] = c, b""
                continue
            c = clients[fd]
            try:
                part = c.recv(chunk)
            except BlockingIOError:
                continue
            except OSError:
                part = b""
            if not part:
                del clients[fd], held[fd]
                c.close()
                continue
            held[fd] += part
            while len(held[fd]) >= 16 and len(held[fd]) >= 16 + int(held[fd][:8]):
                up, down = int(held[fd][:8]), int(held[fd][8:16])
                held[fd] = held[fd][16 + up:]
                if down:
                    c.send(b"r" * down)


def serve_datagrams(port, address="0.0.0.0", answer=0, mute=0, receive_buffer=0, pause=0.0, every=20, long=0, group="", at=""):
    """Takes datagrams (of a multicast group, joined `at` an address): answers them (each `long`th with `answer` bytes), never reads them (mute),
    or sleeps after each `every`th."""
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if receive_buffer:
        u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    if group:
        u.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        u.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(at))
    u.bind((group or address, port))
    if mute:
        time.sleep(60)
    n = 0
    while True:
        data, peer = u.recvfrom(2000)
        n += 1
        if answer:
            u.sendto(data + b"r" * (answer if long and n % long == 0 else 60), peer)
        if pause and n % every == 0:
            time.sleep(pause)


def serve_groups(port, groups="1", at=""):
    """Takes datagrams of 239.9.1.N for each N of `groups`, joined in this order `at` an address; what the kernel refuses it takes for joined already."""
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    u.bind(("", port))
    for n in groups.split(","):
        try:
            u.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.9.1." + n) + socket.inet_aton(at))
        except OSError:
            pass
    while True:
        u.recvfrom(2000)


def serve_resolver(port, address="0.0.0.0", to="", each=5, pause=0.0):
    """A name server: answers at once, but asks another (`to`) for each so many'th question; with pause it is that other, and takes so long."""
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((address, port))
    n = 0
    while True:
        data, peer = u.recvfrom(2000)
        n += 1
        if pause:
            time.sleep(pause)
        elif n % each == each - 1:
            far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            far.connect((to, port))
            far.send(data)
            far.recv(2000)
            far.close()
        u.sendto(data + b"a" * 16, peer)


# Clients


class Watch:
    """Times of calls by name, and errors."""

    def __init__(self, seconds):
        self.times, self.errors = collections.defaultdict(list), collections.Counter()
        self.started = time.time()
        self.end = self.started + seconds

    def runs(self):
        return time.time() < self.end

    def done(self, name, since):
        self.times[name].append(time.time() - since)

    def tell(self):
        for name, took in sorted(self.times.items()):
            took.sort()
            at = ["%.3f" % (1e3 * took[int(q * (len(took) - 1))]) for q in (0.5, 0.9, 0.99, 1)]
            print(name, "n", len(took), "p50 %s p90 %s p99 %s max %s ms" % tuple(at))
        for error, n in self.errors.items():
            print(n, "times:", error)


def connect(host, port, source="", congestion="", timeout=6.0):
    s = socket.create_connection((host, port), timeout=timeout, source_address=(source, 0) if source else None)
    if congestion:
        s.setsockopt(socket.IPPROTO_TCP, 13, congestion.encode())
    no_delay(s)
    return s


def call(s, up=200, down=300):
    s.sendall(b"%08d%08d" % (up, down) + b"q" * up)
    receive(s, down)


def together(n, work):
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)


def requests(watch, host, port, up=200, down=300, gap=0.005, new=0, threads=1, source="", congestion="", timeout=6.0, nagle=0, cpu=0.0,
             greet=0, last=0, user_timeout=0):
    """One request after the other. new: a connection for each. cpu: computes after each answer. greet: the server speaks first, so many
    bytes. last: the server closes. user_timeout: TCP_USER_TIMEOUT, ms."""

    def work(_):
        s = None
        while watch.runs():
            at = time.time()
            try:
                if s is None:
                    s = connect(host, port, source, congestion, timeout)
                    no_delay(s, 0 if nagle else 1)
                    if user_timeout:
                        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, user_timeout)
                    watch.done("connect", at)
                    if greet:
                        receive(s, greet)
                        watch.done("greeting", at)
                at = at if new else time.time()
                if nagle:
                    s.send(b"%08d%08d" % (up, down))
                    s.send(b"q" * up)
                    receive(s, down)
                else:
                    call(s, up, down)
                burn(cpu)
                watch.done("call", at)
                while last and s.recv(100):
                    pass
                if new:
                    s.close()
                    s = None
            except (OSError, EOFError) as e:
                watch.errors[str(e)] += 1
                s = None
                time.sleep(0.02)
            time.sleep(gap)

    together(threads, work)


def users(watch, host, port, kinds="call:1:200:300", threads=8, gap=0.1):
    """So many users, each with a connection of his own and random waits between two requests, of `gap` on average. kinds: NAME:SHARE:UP:DOWN,...; UP and
    DOWN are bytes: 150-400 is any number between, 8000/200 one of 8000, 8200, ... 15800. Nothing is seeded: no two recordings are alike."""
    kinds = [kind.split(":") for kind in kinds.split(",")]

    def size(of):
        if "/" in of:
            return int(of.split("/")[0]) + random.randrange(40) * int(of.split("/")[1])
        return random.randint(int(of.split("-")[0]), int(of.split("-")[-1]))

    def work(_):
        s = None
        while watch.runs():
            wait = random.expovariate(1 / gap)
            if time.time() + wait > watch.end:
                return
            time.sleep(wait)
            name, _, up, down = random.choices(kinds, [float(kind[1]) for kind in kinds])[0]
            s = s or connect(host, port)
            at = time.time()
            try:
                call(s, size(up), size(down))
                watch.done(name, at)
            except (OSError, EOFError) as e:
                watch.done(name + " FAILED", at)
                watch.errors[name + ": " + str(e)] += 1
                s.close()
                s = None

    together(threads, work)


def fan(watch, host, port, hosts=12, down=36000, gap=0.08):
    """Asks so many addresses from that one on, all at once, and waits for all."""
    net, first = host.rsplit(".", 1)
    all = [connect("%s.%d" % (net, int(first) + n), port) for n in range(hosts)]
    while watch.runs():
        at = time.time()
        for s in all:
            s.sendall(b"%08d%08d" % (100, down) + b"q" * 100)
        for s in all:
            receive(s, down)
        watch.done("all", at)
        time.sleep(gap)


def pool(watch, host, port, threads=6):
    """Connections that are kept, and idle for 30 to 550 ms between two calls."""

    def work(i):
        s, gaps = connect(host, port), (0.03 + 0.13 * ((i + k) % 5) for k in range(1000))
        while watch.runs():
            at = time.time()
            try:
                call(s)
                watch.done("call", at)
            except (OSError, EOFError) as e:
                watch.errors[str(e)] += 1
                s = connect(host, port)
            time.sleep(next(gaps))

    together(threads, work)


def sleepers(watch, host, port, threads=8, gap=1.6, timeout=0.8):
    """Connections that are kept; of half of them each is idle for so long between two calls. Who has no answer in time opens another."""

    def work(i):
        s = connect(host, port, timeout=timeout)
        while watch.runs():
            at = time.time()
            try:
                call(s)
                watch.done("idle" if i % 2 else "busy", at)
            except (OSError, EOFError) as e:
                watch.errors[str(e)] += 1
                watch.done("gave up", at)
                s.close()
                s = connect(host, port, timeout=timeout)
            time.sleep(gap + 0.05 * i if i % 2 else 0.05)

    together(threads, work)


def uploads(watch, host, port, threads=2, wait=0.7, up=20000, down=200, gap=0.05):
    """A connection for each; the head of a request, a wait for an answer to that, and the rest."""

    def work(_):
        while watch.runs():
            at = time.time()
            s = connect(host, port)
            s.sendall(b"%08d%08d" % (up, down))
            select.select([s], [], [], wait)
            s.sendall(b"q" * up)
            receive(s, down)
            watch.done("call", at)
            s.close()
            time.sleep(gap)

    together(threads, work)


def transactions(watch, host, port, threads=4, idle=0.4, gap=0.8, asks=""):
    """One takes a lock of the server, is idle, or asks another one, and gives it back; the others ask each 20 ms."""

    def work(i):
        s = connect(host, port)
        far = asks and connect(asks.rsplit(":", 1)[0], int(asks.rsplit(":", 1)[1]))
        while watch.runs():
            at = time.time()
            if i == 0:
                call(s, 1)
                call(far) if far else time.sleep(idle)
                call(s, 2)
                time.sleep(gap)
            else:
                call(s)
                watch.done("call", at)
                time.sleep(0.02)

    together(threads, work)


def visitors(watch, host, port, threads=10, gap=0.2):
    """One call on a connection, which is kept without a word until the server closes it; then another."""

    def work(i):
        time.sleep(0.03 * i)
        while watch.runs():
            s = connect(host, port, timeout=30.0)
            at = time.time()
            call(s)
            watch.done("call", at)
            at = time.time()
            try:
                receive(s, 1)
            except (EOFError, OSError):
                pass
            watch.done("kept", at)
            s.close()
            time.sleep(gap)

    together(threads, work)


def jobs(watch, host, port, threads=3, gap=0.25):
    """Some take jobs from a queue, each by a request that waits for one; one brings them."""

    def work(i):
        s = connect(host, port, timeout=30.0)
        while watch.runs():
            at = time.time()
            call(s, 1 if i else 60, 60)
            watch.done("take" if i else "bring", at)
            if not i:
                time.sleep(gap)
        # Who waits still, has one.
        for _ in range(0 if i else threads):
            call(s, 60, 60)

    together(threads, work)


def takers(watch, host, port, threads=4):
    """Take jobs from a queue for ever: they wait for one without a time-out."""

    def work(_):
        s = connect(host, port)
        s.settimeout(None)
        while True:
            call(s, 1, 60)

    for i in range(threads):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    while watch.runs():
        time.sleep(0.1)


def bringers(watch, host, port, threads=2, gap=0.04, timeout=0.5):
    """Bring jobs to a queue. Who has no answer in time connects anew."""

    def work(_):
        s = None
        while watch.runs():
            at = time.time()
            try:
                s = s or connect(host, port, timeout=timeout)
                call(s, 60, 60)
                watch.done("bring", at)
            except (OSError, EOFError) as e:
                watch.errors[str(e)] += 1
                if s:
                    s.close()
                s = None
            time.sleep(gap)

    together(threads, work)


def reports(watch, host, port, down=3000000, gap=1.5, receive_buffer=16384, pause=0.005):
    """Asks for a large answer now and then, and reads it slowly."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    s.connect((host, port))
    while watch.runs():
        time.sleep(gap / 2)
        at = time.time()
        s.sendall(b"%08d%08d" % (100, down) + b"q" * 100)
        left = down
        while left > 0:
            receive(s, min(left, 20000))
            left -= 20000
            time.sleep(pause)
        watch.done("report", at)
        time.sleep(gap / 2)


def copies(watch, host, port, gap=0.1):
    """Asks for a copy, again and again."""
    while watch.runs():
        at, n = time.time(), 0
        s = connect(host, port)
        s.sendall(b"q" * 100)
        while watch.runs() and (part := s.recv(65536)):
            n += len(part)
        s.close()
        watch.done("copy of %d MB" % (n / 1e6), at)
        time.sleep(gap)


def feeds(watch, host, port, connections=1):
    """Reads what a feed sends; how late each small message is."""

    def work(_):
        s = connect(host, port)
        while watch.runs():
            n, sent = header(s)
            receive(s, n)
            if sent:
                watch.times["tick"].append((time.time() * 1000 % 1e8 - sent) / 1000)

    together(connections, work)


def herd(watch, host, port, clients=60, at=1.5):
    """All clients close and connect again at the same moment."""

    def work(i):
        time.sleep(0.02 * i)
        s = connect(host, port)
        call(s)
        time.sleep(max(0, watch.started + at - time.time()))
        s.close()
        again = time.time()
        try:
            s = connect(host, port)
            watch.done("connect again", again)
            call(s)
            watch.done("first answer", again)
        except (OSError, EOFError) as e:
            watch.errors[str(e)] += 1

    together(clients, work)


def bulk(watch, host, port, congestion="", gap=0.0, reads=0, pace=0):
    """Sends (or reads) as much as it can, or as `pace` (bytes a second, SO_MAX_PACING_RATE) lets it."""
    s, n = connect(host, port, "", congestion), 0
    if pace:
        s.setsockopt(socket.SOL_SOCKET, 47, pace)
    try:
        while watch.runs():
            n += len(s.recv(65536)) if reads else s.send(b"x" * 16384)
            time.sleep(gap)
    except OSError as e:
        watch.errors[str(e)] += 1
    print("%.3f Mbit/s" % (n * 8e-6 / (time.time() - watch.started)))


def players(watch, host, port, up=6000, down=300, gap=0.15, beat=0.6, threads=8):
    """Each asks on its own connection, and says each `beat` seconds there that it lives, which nobody answers."""

    def work(i):
        s = connect(host, port)
        time.sleep(i * beat / threads)

        def beats():
            while watch.runs():
                time.sleep(beat)
                s.sendall(b"%08d%08d" % (0, 0))

        threading.Thread(target=beats, daemon=True).start()
        while watch.runs():
            at = time.time()
            call(s, up, down)
            watch.done("call", at)
            time.sleep(gap)

    together(threads, work)


def plain(watch, host, port, up=200, down=300, gap=0.05, threads=3, new=0, says="q"):
    """Asks a server that knows no header: `up` bytes that begin with `says`, `down` of an answer. new: on a connection of its own each."""

    def work(_):
        s = None
        while watch.runs():
            at = time.time()
            s = s or connect(host, port)
            s.sendall(says.encode() + b"q" * (up - len(says)))
            receive(s, down)
            watch.done(says, at)
            if new:
                s.close()
                s = None
            time.sleep(gap)

    together(threads, work)


def pictures(watch, host, port, size=400000, every=0.4, nap=0.5, send_buffer=120000):
    """Sends a picture each `every` seconds; where its socket takes no more it sleeps. How late each is sent whole."""
    s, n = connect(host, port), 0
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    s.setblocking(False)
    while watch.runs():
        due = watch.started + n * every
        time.sleep(max(0, due - time.time()))
        left = size
        while left > 0 and watch.runs():
            try:
                left -= s.send(b"p" * left)
            except BlockingIOError:
                time.sleep(nap)
        watch.times["picture"].append(time.time() - due)
        n += 1


def letters(watch, host, port, gap=0.0006):
    """One byte a write, without Nagle."""
    s, n, due = connect(host, port), 0, time.time()
    while watch.runs():
        s.send(b"x")
        n += 1
        due += gap
        time.sleep(max(0, due - time.time()))
    print(n, "writes of 1 byte")


def lookup(watch, host, port, first="", second="", timeout=1.0):
    """Asks a name server, then another when it did not answer, then calls."""
    while watch.runs():
        at = time.time()
        for server in (first, second):
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            u.connect((server, 53))
            u.settimeout(timeout)
            u.send(name_question(1))
            try:
                u.recv(2000)
                break
            except OSError:
                watch.errors["no answer from " + server] += 1
            finally:
                u.close()
        watch.done("name", at)
        s = connect(host, port)
        call(s)
        s.close()
        time.sleep(0.05)


def look_up(resolver, n):
    """One question to a name server."""
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.connect((resolver, 53))
    u.settimeout(3)
    u.send(name_question(n))
    u.recv(2000)
    u.close()


def searches(watch, host, port, resolver="", names=5):
    """Asks a name server for so many names, one after the other, before each call."""
    while watch.runs():
        at = time.time()
        for n in range(names):
            look_up(resolver, n)
        watch.done("names", at)
        at = time.time()
        s = connect(host, port)
        call(s)
        s.close()
        watch.done("call", at)
        time.sleep(0.02)


def storm(watch, host, port, rate=36.0, timeout=0.25, tries=4, each=0):
    """Calls at a rate, each on a connection of its own; one that has no answer in time is given up and made again. each: one of so many has an answer ten times
    as large."""

    def once(down):
        at = time.time()
        for _ in range(tries):
            since, s = time.time(), None
            try:
                s = socket.create_connection((host, port), timeout=timeout)
                s.settimeout(max(0.001, timeout - (time.time() - since)))
                call(s, 100, down)
                watch.done("call", at)
                return
            except (OSError, EOFError):
                watch.done("given up", since)
            finally:
                if s:
                    s.close()

    n = 0
    while watch.runs():
        n += 1
        down = 2000 if each and n % each == 0 else 200
        threading.Thread(target=once, args=(down,), daemon=True).start()
        time.sleep(max(0, watch.started + n / rate - time.time()))


def sweep(watch, host, port, net="10.20.", addresses=1200, gap=0.4):
    """Asks so many addresses of the same network, one after the other, and takes what answers come."""
    u, sent, got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0, 0
    u.setblocking(False)
    while watch.runs():
        for n in range(addresses):
            try:
                u.sendto(b"%08d" % n + b"q" * 30, ("%s%d.%d" % (net, n // 200, 1 + n % 200), port))
                sent += 1
            except OSError as e:
                watch.errors[str(e)] += 1
            if n % 20 == 19:
                time.sleep(0.002)
            try:
                while u.recv(2000):
                    got += 1
            except BlockingIOError:
                pass
        time.sleep(gap)
    print("sent", sent, "answers", got)


def eyeballs(watch, host, port, v6="", wait=0.3):
    """Tries IPv6, where there is an address, and after 300 ms IPv4."""
    while watch.runs():
        at = time.time()
        s = socket.socket(socket.AF_INET6)
        s.setblocking(False)
        if v6:
            s.connect_ex((v6, port))
        if not v6 or not select.select([], [s], [], wait)[1]:
            s.close()
            s = connect(host, port)
        watch.done("connect", at)
        s.setblocking(True)
        call(s)
        s.close()
        watch.done("call", at)
        time.sleep(0.05)


def datagrams(watch, host, port, size=160, gap=0.008, burst=1):
    """Sends datagrams and waits for none."""
    u, n = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
    u.connect((host, port))
    while watch.runs():
        for _ in range(burst):
            u.send(b"%08d" % n + b"m" * (size - 8))
            n += 1
        time.sleep(gap)
    print("sent", n)


def streams(watch, host, port, groups=1, gap=0.025):
    """Sends datagrams to groups, each after the one before, the first of which is the host: each gets one in each `gap`."""
    u, sent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
    net, first = host.rsplit(".", 1)
    while watch.runs():
        for n in range(groups):
            u.sendto(b"%08d" % sent + b"m" * 150, (net + "." + str(int(first) + n), port))
            sent += 1
        time.sleep(gap)
    print("sent", sent)


def questions(watch, host, port, gap=0.01, timeout=1.0):
    """Asks by datagrams, and again after a timeout."""
    u, n = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
    u.connect((host, port))
    u.settimeout(timeout)
    while watch.runs():
        at = time.time()
        n += 1
        for _ in range(4):
            try:
                u.send(b"%08d" % n + b"q" * 30)
                while int(u.recv(2000)[:8]) != n:
                    pass
                break
            except OSError as e:
                watch.errors[str(e)] += 1
        watch.done("question", at)
        time.sleep(gap)


def question(watch, u, n, size, at):
    """The n'th of so many bytes on a connected socket, and its answer, where one comes in time."""
    u.send(b"%08d" % n + b"q" * (size - 8))
    try:
        u.recv(4000)
    except OSError as e:
        watch.errors[str(e)] += 1
    watch.done("name", at)


def names(watch, host, port, gap=0.03, timeout=0.8, size=40):
    """Asks by a datagram from a new socket each time, of so many bytes."""
    n = 0
    while watch.runs():
        n += 1
        at, u = time.time(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        u.connect((host, port))
        u.settimeout(timeout)
        question(watch, u, n, size, at)
        u.close()
        time.sleep(gap)


def asks(watch, host, port, gap=0.1, timeout=0.8, source=0, size=40):
    """Asks by datagrams from one socket, bound to that port, again and again."""
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("0.0.0.0", source))
    u.connect((host, port))
    u.settimeout(timeout)
    n = 0
    while watch.runs():
        n += 1
        question(watch, u, n, size, time.time())
        time.sleep(gap)
    u.close()


def probes(watch, host, port, gap=0.1):
    """Datagrams with a TTL of 1 and of 2, as a route monitor sends them; waits for no answer."""
    n = 0
    while watch.runs():
        for ttl in (1, 2):
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            u.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
            u.sendto(b"p" * 32, (host, port + n % 30))
            u.close()
            n += 1
        time.sleep(gap)
    print(n, "probes")


def checks(watch, host, port, gap=0.1):
    """Opens a connection and closes it by a RST, as some health checkers do."""
    while watch.runs():
        s = connect(host, port)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
        time.sleep(gap)


def half_datagrams(watch, host, port, gap=0.005, size=1400):
    """First fragments of datagrams whose others never come."""
    raw, n = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW), 0
    while watch.runs():
        n += 1
        payload = struct.pack(">HHHH", 5000, port, 60000, 0) + b"p" * (size - 8)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, n & 0xFFFF, 0x2000, 64, 17, 0)
        raw.sendto(head + socket.inet_aton("0.0.0.0") + socket.inet_aton(host) + payload, (host, 0))
        time.sleep(gap)
    print(n, "halves")


def flood(watch, host, port, rate=400, net="10.9.4.", sources=250):
    """SYNs with forged sources, that never answer."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    to, n = socket.inet_aton(host), 0

    def checksum(of):
        total = sum(struct.unpack(">%dH" % (len(of) // 2), of))
        total = (total >> 16) + (total & 0xFFFF)
        return ~(total + (total >> 16)) & 0xFFFF

    while watch.runs():
        while (time.time() - watch.started) * rate > n:
            n += 1
            source = socket.inet_aton(net + str(1 + n * 7 % sources))
            syn = struct.pack(">HHIIBBHHH", 1024 + n * 13 % 60000, port, n * 64007 % 2**32, 0, 0x60, 2, 64240, 0, 0) + b"\2\4\5\xb4"
            sum_of = checksum(source + to + struct.pack(">BBH", 0, 6, 24) + syn)
            syn = syn[:16] + struct.pack(">H", sum_of) + syn[18:]
            raw.sendto(struct.pack(">BBHHHBBH", 0x45, 0, 44, n & 0xFFFF, 0, 60, 6, 0) + source + to + syn, (host, 0))
        time.sleep(0.002)
    print(n, "SYNs")


def unknown_frames(watch, host, port, device="d0", source=""):
    """Frames of a protocol and broadcasts for a port that nobody listens to."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((device, 0))
    mac = raw.getsockname()[4]
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    u.bind((source, 0))
    while watch.runs():
        raw.send(b"\x01\x80\xc2\0\0\x0e" + mac + b"\x88\xcc" + b"\2\7\4" + mac + b"\0" * 60)
        u.sendto(b"n" * 50, (host, port))
        time.sleep(0.03)


def announce(watch, host, port, device="d0"):
    """One gratuitous ARP request for the host's address."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((device, 0))
    mac, ip = raw.getsockname()[4], socket.inet_aton(host)
    raw.send(b"\xff" * 6 + mac + b"\x08\x06" + b"\0\1\x08\0\6\4\0\1" + mac + ip + b"\0" * 6 + ip + b"\0" * 18)


def main():
    words = [w for w in sys.argv[1:] if "=" not in w]
    options = dict(w.split("=", 1) for w in sys.argv[1:] if "=" in w)
    # Programs are told apart by the names of their threads.
    if "task" in options:
        with open("/proc/self/comm", "w") as f:
            f.write(options.pop("task"))
    serve = words[0] == "serve"
    if serve:
        work = globals()["serve_" + words[1]]
        args = [int(words[2])]
    else:
        work = globals()[words[0]]
        watch = Watch(float(words[3]))
        args = [watch, words[1], int(words[2])]
    names = work.__code__.co_varnames[: work.__code__.co_argcount]
    defaults = dict(zip(names[-len(work.__defaults__ or ()):], work.__defaults__ or ()))
    work(*args, **{name: type(defaults[name])(value) for name, value in options.items()})
    if not serve:
        watch.tell()


main()
