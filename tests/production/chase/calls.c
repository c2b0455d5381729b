/* calls.c - scenes for chase, litehb and fullhb: calls of the C library; the argument names one
 *
 * As in scenes.c: a line with "@name" is the site of that name, and run.py says which pairs race.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 150 };
static volatile size_t size = 32; /* so that calls stay calls */
static _Thread_local volatile int sink;
static int zero, null; /* files */

static void check(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "not fine: %s\n", what);
        exit(1);
    }
}

static void nap(void)
{
    usleep(500);
}

static void two(void *(*a)(void *), void *(*b)(void *))
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
}

/* ---- blocks ---- */

static char block[64], other[64];

static void *compares(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        sink = memcmp(block, other, size); /* @memcmp */
        memcpy(other, block, size);        /* @memcpy */
    }
    return arg;
}

static void *pokes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        block[0] = (char)i;  /* @inside */
        block[32] = (char)i; /* @behind */
    }
    return arg;
}

static void blocks(void)
{
    two(compares, pokes);
}

/* ---- strings: up to the NUL ---- */

static char text[64] = "0123456789";

static void *measures(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        sink = (int)strlen(text);                   /* @strlen */
        sink = snprintf(other, size, "%.5s", text); /* @snprintf */
    }
    return arg;
}

static void *writes_text(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        text[5] = (char)('a' + i % 20); /* @five */
        text[20] = (char)i;             /* @twenty */
    }
    return arg;
}

static void strings(void)
{
    two(measures, writes_text);
}

/* ---- files: what was read is written, no more ---- */

static char page[64];

static void *fills(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        errno = 77;
        check(read(zero, page, size) == 32 && errno == 77, "read");   /* @fill */
        check(write(null, page, size) == 32 && errno == 77, "write"); /* @empty */
    }
    return arg;
}

static void *looks(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap()) {
        sink = page[31]; /* @look */
        page[30] = 0;    /* @change */
        page[32] = 1;    /* @outside */
    }
    return arg;
}

static void files(void)
{
    two(fills, looks);
}

/* ---- a file orders: the call is entered long before it has its data ---- */

static int there[2], back[2];
static char box[8];

static void *takes(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        check(read(there[0], box, sizeof(box)) == 8, "taken"); /* @take */
        check(write(back[1], "", 1) == 1, "answer");
    }
    return arg;
}

static void *gives(void *arg)
{
    static char letter[8] = "letter";
    char answer;

    for (int i = 0; i < ROUNDS; i++) {
        box[1] = (char)i; /* @before */
        check(write(there[1], letter, sizeof(letter)) == 8, "given");
        check(read(back[0], &answer, 1) == 1, "answered");
        check(strcmp(box, "letter") == 0, "what came"); /* @compare */
    }
    return arg;
}

static void ordered(void)
{
    check(pipe(there) == 0 && pipe(back) == 0, "pipe");
    two(takes, gives);
}

/* ---- state inside libc ---- */

static void *splits(void *arg)
{
    char words[] = "a b c";

    for (int i = 0; i < ROUNDS; i++, nap()) {
        char copy[sizeof(words)];

        memcpy(copy, words, sizeof(copy));
        check(strtok(copy, " ") == copy, "strtok"); /* @strtok */
    }
    return arg;
}

static void *asks(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap())
        sink = getenv("HOME") != NULL; /* @getenv */
    return arg;
}

static void *sets(void *arg)
{
    for (int i = 0; i < ROUNDS; i++, nap())
        setenv("HEDDLE_CALLS", i % 2 ? "1" : "2", 1); /* @setenv */
    return arg;
}

static void hidden(void)
{
    two(splits, splits);
    two(asks, sets);
}

/* ---- handlers that call, too, while the call blocks: whose stack is it? ---- */

char note[] = "note"; /* not static: else strlen() of it is a number */
static pthread_t blocked;
static volatile int over;

static void on_signal(int sig)
{
    (void)sig;
    sink = (int)strlen(note) * (int)size; /* @inhandler */
}

static void *blocks_in_read(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        check(read(there[0], box, sizeof(box)) == 8, "after signals"); /* @interrupted */
    over = 1;
    return arg;
}

static void *looks_into_box(void *arg)
{
    while (!over) {
        sink = box[0]; /* @intobox */
        nap();
    }
    return arg;
}

static void handlers(void)
{
    struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    pthread_t reader;

    check(pipe(there) == 0, "pipe");
    sigaction(SIGUSR1, &a, NULL);
    pthread_create(&blocked, NULL, blocks_in_read, NULL);
    pthread_create(&reader, NULL, looks_into_box, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_kill(blocked, SIGUSR1);
        nap();
        check(write(there[1], "aaaaaaaa", 8) == 8, "written");
    }
    pthread_join(blocked, NULL);
    pthread_join(reader, NULL);
}

/* ---- long calls, one after the other ---- */

static char *large;

static void *searches(void *arg)
{
    struct timespec t;
    double end = 0;

    do {
        for (int i = 0; i < 10; i++)
            sink = (int)strnlen(large, size << 16); /* @search */
        clock_gettime(CLOCK_MONOTONIC, &t);
        if (!end)
            end = (double)t.tv_sec + 0.4 + 1e-9 * (double)t.tv_nsec;
    } while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < end);
    return arg;
}

static void costly(void)
{
    large = malloc(1 << 20);
    memset(large, 'a', 1 << 20);
    large[(1 << 20) - 1] = 0;
    two(searches, searches);
}

static const struct {
    const char *name;
    void (*play)(void);
} scenes[] = {
    { "blocks", blocks }, { "strings", strings },   { "files", files },   { "ordered", ordered },
    { "hidden", hidden }, { "handlers", handlers }, { "costly", costly },
};

int main(int argc, char **argv)
{
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(*scenes); i++)
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scenes[i].play();
            printf("played %s\n", argv[1]);
            return 0;
        }
    return 2;
}
