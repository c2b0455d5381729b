// Pointers that other threads get through pipes, sockets, queues, files and memory that is mapped
// twice; what goes to a file that nobody reads from is no matter of another thread.
// pair: pipe_w pipe_r
// pair: vector_w vector_r
// pair: message_w message_r
// pair: file_w file_r
// pair: queue_w queue_r
// pair: mapped_w mapped_r
// pair: bytes_w bytes_r
#define _GNU_SOURCE
#include <mqueue.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int in[2], sock[2], shared;
static FILE *file;
static mqd_t queue;

static void *run(void *arg)
{
    int *p = arg;
    struct iovec v = { &p, sizeof p };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
    int **map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, shared, 0);
    unsigned char raw[8];
    uint64_t word = 0;

    if (read(in[0], &p, sizeof p) > 0)
        ++*p; // [pipe_r]
    if (readv(in[0], &v, 1) > 0)
        ++*p; // [vector_r]
    if (recvmsg(sock[0], &m, 0) > 0)
        ++*p; // [message_r]
    if (fread(&p, sizeof p, 1, file) > 0)
        ++*p; // [file_r]
    if (mq_receive(queue, (char *)&p, sizeof p, NULL) > 0)
        ++*p; // [queue_r]
    if (*map)
        ++**map; // [mapped_r]
    if (read(in[0], raw, 8) == 8)
        for (int i = 0; i < 8; i++)
            word |= (uint64_t)raw[i] << 8 * i;
    if (word)
        ++*(int *)(uintptr_t)word; // [bytes_r]
    return p;
}

__attribute__((noinline)) static void publish(void)
{
    int *p = malloc(4), *v = malloc(4), *m = malloc(4), *f = malloc(4), *q = malloc(4);
    int *g = malloc(4), *b = malloc(4);
    struct iovec iov = { &v, sizeof v }, iov2 = { &m, sizeof m };
    struct msghdr msg = { .msg_iov = &iov2, .msg_iovlen = 1 };
    int **map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    unsigned char raw[8];

    for (int i = 0; i < 8; i++)
        raw[i] = (unsigned char)((uintptr_t)b >> 8 * i);
    *map = g;
    if (write(in[1], &p, sizeof p) < 0 || writev(in[1], &iov, 1) < 0 ||
        sendmsg(sock[1], &msg, 0) < 0 || write(in[1], raw, 8) < 0 ||
        fwrite(&f, sizeof f, 1, file) == 0)
        return;
    mq_send(queue, (char *)&q, sizeof q, 0);
    *p = 1; // [pipe_w]
    *v = 1; // [vector_w]
    *m = 1; // [message_w]
    *f = 1; // [file_w]
    *q = 1; // [queue_w]
    *g = 1; // [mapped_w]
    *b = 1; // [bytes_w]
}

int main(void)
{
    pthread_t t;

    if (pipe(in) || socketpair(AF_UNIX, SOCK_STREAM, 0, sock) || !(file = tmpfile()))
        return 1;
    shared = memfd_create("shared", 0);
    if (ftruncate(shared, 4096))
        return 1;
    pthread_create(&t, 0, run, 0);
    publish();
    pthread_join(t, 0);
    return 0;
}
