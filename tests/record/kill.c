/* kill.c - threads that lock and count, and say in a shared file how far they are
 *
 *     kill PROGRESS_FILE THREADS [ROUNDS]
 *
 * PROGRESS_FILE gets a 64-bit count per thread, raised after each round: whatever
 * happens to the process, that many rounds were complete. Without ROUNDS for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t *progress;
static uint64_t shared, rounds;

static void *work(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg, i;

    for (i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        shared += me;
        pthread_mutex_unlock(&lock);
        progress[8 * me]++;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 4, fd, i;
    pthread_t t[64];

    if (argc < 2 || threads > 64)
        return 2;
    rounds = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
    fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 65 * 64))
        return 2;
    progress = mmap(NULL, 65 * 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (progress == MAP_FAILED)
        return 2;
    for (i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
    for (i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    return 0;
}
