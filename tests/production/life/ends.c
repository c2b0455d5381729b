/* ends.c - processes that end in other ways than by main()'s return; what is printed, and in which
 * order the end comes, is the same each time */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

int shared; /* by turns, so that there is a pair of sites and no race */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

static void touch(void)
{
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
}

static void *quick(void *unused)
{
    touch();
    return unused;
}

static void *slow(void *text)
{
    usleep(30000);
    touch();
    if (text)
        puts(text);
    return NULL;
}

static int slow_c11(void *text)
{
    slow(text);
    thrd_exit(3);
}

static void *leaves(void *text)
{
    slow(text);
    pthread_exit(NULL);
}

static void *says_it(void *text)
{
    slow(text);
    fflush(stdout);
    return NULL;
}

static void *waits(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static pthread_t start(void *(*f)(void *), const char *text, int detached)
{
    pthread_t t;

    if (pthread_create(&t, NULL, f, (void *)text) != 0)
        exit(9);
    if (detached)
        pthread_detach(t);
    return t;
}

static void *makes_another(void *text)
{
    start(slow, text, 1);
    return NULL;
}

static void makes_late(void *text)
{
    start(slow, text, 1);
}

static void *has_destructor(void *text)
{
    touch();
    pthread_setspecific(key, text);
    return NULL;
}

static void *joins_main(void *thread)
{
    pthread_join(*(pthread_t *)thread, NULL);
    return slow("main is joined");
}

static void at_end(void)
{
    touch();
    printf("the end\n");
}

static void many(void)
{
    for (int i = 0; i < 300; i++) {
        pthread_t t = start(quick, NULL, i & 1);

        if (!(i & 1))
            pthread_join(t, NULL);
    }
    start(slow, "many", 1);
}

static void child(void)
{
    int status;
    pid_t pid;

    pthread_join(start(quick, NULL, 0), NULL);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        start(slow, "child", 0);
        pthread_exit(NULL);
    }
    waitpid(pid, &status, 0);
    printf("child: %d\n", status);
    start(slow, "parent", 0);
}

/* Neither the C library nor an interposed function sees it. */
static void raw(void)
{
    fflush(stdout);
    syscall(SYS_exit, 6);
}

static void raw_first(void)
{
    start(says_it, "the thread ends", 1);
    raw();
}

static void raw_last(void)
{
    pthread_join(start(quick, NULL, 0), NULL);
    puts("main ends");
    raw();
}

static void *ends_raw(void *text)
{
    says_it(text);
    syscall(SYS_exit, 7);
    return NULL;
}

static void c11(void)
{
    thrd_t t;

    thrd_create(&t, slow_c11, (void *)"c11");
    thrd_exit(4);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    static pthread_t self;

    atexit(at_end);
    self = pthread_self();
    pthread_key_create(&key, makes_late);
    if (strcmp(how, "joined") == 0)
        pthread_join(start(quick, NULL, 0), NULL);
    else if (strcmp(how, "joinable") == 0)
        start(slow, how, 0);
    else if (strcmp(how, "detached") == 0)
        start(leaves, how, 1);
    else if (strcmp(how, "nested") == 0)
        start(makes_another, how, 1);
    else if (strcmp(how, "destructor") == 0)
        start(has_destructor, how, 1);
    else if (strcmp(how, "main") == 0)
        start(joins_main, (const char *)&self, 1);
    else if (strcmp(how, "cancelled") == 0)
        pthread_cancel(start(waits, NULL, 1));
    else if (strcmp(how, "many") == 0)
        many();
    else if (strcmp(how, "child") == 0)
        child();
    else if (strcmp(how, "c11") == 0)
        c11();
    else if (strcmp(how, "raw") == 0)
        raw_first();
    else if (strcmp(how, "raw-last") == 0)
        raw_last();
    else if (strcmp(how, "raw-thread") == 0)
        start(ends_raw, how, 1);
    printf("main ends\n");
    pthread_exit(NULL);
}
