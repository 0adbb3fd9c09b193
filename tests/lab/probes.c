// What the guest of record-probes-sample.sh plays: a listener whose connections wait to be accepted, a receiver whose socket is in use while segments
// come, and names that are resolved by a server of its own that waits. Each moment and each figure goes to standard output, by CLOCK_MONOTONIC.
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int tcp(int port, int backlog) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (backlog ? bind(s, (void *)&a, sizeof a) || listen(s, backlog) : connect(s, (void *)&a, sizeof a)) {
        perror("socket");
        exit(1);
    }
    return s;
}

// A name server: answers each question by 10.1.2.3 after the milliseconds that the name begins with (`300.test`).
static void *dns(void *unused) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(s, (void *)&a, sizeof a)) perror("bind");
    for (;;) {
        unsigned char q[512];
        socklen_t n = sizeof from;
        ssize_t got = recvfrom(s, q, sizeof q - 16, 0, (void *)&from, &n);
        if (got < 17) continue;
        usleep(1000 * atoi((char *)q + 13));
        size_t end = 12;
        while (end < (size_t)got && q[end]) end += q[end] + 1;
        end += 5;
        q[2] = 0x84, q[3] = 0, q[6] = 0, q[7] = 0, q[8] = q[9] = q[10] = q[11] = 0;
        if (q[end - 3] == 1) { // type A
            static const unsigned char answer[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 1, 2, 3};
            q[7] = 1;
            memcpy(q + end, answer, sizeof answer);
            end += sizeof answer;
        }
        sendto(s, q, end, 0, (void *)&from, n);
    }
    return unused;
}

static void *flood(void *unused) {
    static char data[256 << 10];
    int s = tcp(7002, 0);
    for (int i = 0; i < 160; i++)
        if (write(s, data, sizeof data) < 0) break;
    close(s);
    return unused;
}

// `ss` says how many wait, while nothing moves.
static void waiting(const char *when) {
    printf("ss %s ", when);
    fflush(stdout);
    if (system("ss -Hltn 'sport = :7001' | tr -s ' ' | cut -d' ' -f2,3")) printf("failed\n");
    fflush(stdout);
}

int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, dns, NULL);
    int listener = tcp(7001, 9), clients[7];
    for (int i = 0; i < 7; i++) {
        clients[i] = tcp(7001, 0);
        usleep(20000);
        if (i == 3) waiting("four");
    }
    waiting("seven");
    for (int i = 0; i < 5; i++) close(accept(listener, NULL, NULL));
    waiting("two");
    close(tcp(7001, 0));

    int other = tcp(7002, 4);
    pthread_create(&t, NULL, flood, NULL);
    int s = accept(other, NULL, NULL);
    static char data[4 << 20];
    long long all = 0;
    for (ssize_t n; (n = read(s, data, sizeof data)) > 0;) all += n;
    printf("received %lld\n", all);

    const char *names[] = {"20.test", "300.test", "5.test", "120.test", "127.0.0.1"};
    for (int i = 0; i < 5; i++) {
        struct addrinfo *found, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
        long long from = now();
        int failed = getaddrinfo(names[i], "80", &hints, &found);
        printf("lookup %s %lld %lld %s\n", names[i], from, now(), failed ? gai_strerror(failed) : "ok");
    }
    fflush(stdout);
    for (int i = 0; i < 7; i++) close(clients[i]);
    return 0;
}
