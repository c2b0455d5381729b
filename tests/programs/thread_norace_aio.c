// Threads that libc makes for asynchronous requests come after the request; who learns that one is
// done comes after it, too.
// gcc: also
// flags:
// flags: -D_FILE_OFFSET_BITS=64
// flags: -static -DSTATIC
// stdout: 4097 2 8
// tsan: crashes
#include "prog.h"
#include <aio.h>
#include <fcntl.h>
#include <netdb.h>
#include <semaphore.h>
#include <signal.h>

static char out[4096], in[4096];
static sem_t written, found;
static int bytes, lookups, told, asked;
static struct aiocb request;

static void write_done(union sigval v)
{
    bytes += (int)aio_return(v.sival_ptr);
    sem_post(&written);
}

static void look_up_done(union sigval v)
{
    lookups += v.sival_int;
    sem_post(&found);
}

/* Another thread than the one that asked. */
THREAD(reader)
{
    const struct aiocb *list[] = { &request };

    await(&asked);
    while (aio_error(&request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    told++;
    return NULL;
}

static void look_up(void)
{
#ifndef STATIC
    static struct gaicb address = { .ar_name = "127.0.0.1" };
    struct gaicb *list[] = { &address };
    struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = look_up_done };

    e.sigev_value.sival_int = 1;
    lookups = 1;
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, &e))
        abort();
    sem_wait(&found);
#else
    lookups = 2;
#endif
}

int main(void)
{
    char name[] = "/tmp/heddle-aio-XXXXXX";
    int fd = mkstemp(name);
    struct aiocb w = { .aio_fildes = fd, .aio_buf = out, .aio_nbytes = sizeof(out) };
    pthread_t t;

    unlink(name);
    sem_init(&written, 0, 0);
    sem_init(&found, 0, 0);
    memset(out, 'a', sizeof(out));
    w.aio_sigevent.sigev_notify = SIGEV_THREAD;
    w.aio_sigevent.sigev_notify_function = write_done;
    w.aio_sigevent.sigev_value.sival_ptr = &w;
    bytes = 1;
    if (aio_write(&w))
        abort();
    sem_wait(&written);
    request = (struct aiocb){ .aio_fildes = fd, .aio_buf = in, .aio_nbytes = sizeof(in) };
    t = start(reader, NULL);
    told = 7;
    if (aio_read(&request))
        abort();
    tell(&asked);
    pthread_join(t, NULL);
    look_up();
    printf("%d %d %d\n", bytes, lookups, told);
    return 0;
}
