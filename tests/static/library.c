/* Pointers that the C library moves, keeps, hands back, or calls. */
#define _GNU_SOURCE
#include <aio.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

// pair: wide_a wide_b
// pair: bounded_a bounded_b
// pair: text_a text_b
// pair: sep_a sep_b
// pair: token_a token_b
// pair: env_a env_b
// pair: scan_a scan_b
// pair: fixed_a fixed_b
// pair: user_a user_b
// pair: async_a async_b
// never: pure_a pure_b

struct five {
    char *pointer[5];
};
static char wide_target[64], bounded_target[64], separated[64], environment[64] = "NAME=value",
                                                                reserved[4096];
static char tokens[64] = "a b c", users[64];
static struct five wide_from, wide_to;
static struct {
    char *pointer;
} bounded_from, bounded_to;
static union {
    char bytes[16];
    char *pointer;
} text_from, text_to;
static char text_target[64];
static char *cursor = separated, *scanned, *fixed;
static struct passwd entry;
static int finished;
static struct aiocb request;
static long pure;

static void done(union sigval v)
{
    (void)v;
    finished++; // [async_a]
}

static void *run(void *arg)
{
    struct passwd *user;
    char *part;

    wmemcpy((wchar_t *)&wide_to, (wchar_t *)&wide_from, sizeof(wide_to) / sizeof(wchar_t));
    wide_to.pointer[4][3] = 1; // [wide_a]
    strncpy((char *)&bounded_to, (char *)&bounded_from, sizeof(bounded_to));
    bounded_to.pointer[3] = 1; // [bounded_a]
    strcpy(text_to.bytes, text_from.bytes);
    text_to.pointer[3] = 1; // [text_a]
    part = strsep(&cursor, ",");
    cursor[0] = part[0]; // [sep_a]
    part = strtok(NULL, " ");
    part[0] = 'x'; // [token_a]
    part = getenv("NAME");
    part[0] = 'x';  // [env_a]
    scanned[0] = 1; // [scan_a]
    fixed[5] = 1;   // [fixed_a]
    getpwnam_r("root", &entry, users, sizeof(users), &user);
    entry.pw_name[0] = 'x';                          // [user_a]
    pure = labs((long)arg) + strtol("12", NULL, 10); // [pure_a]
    return NULL;
}

int main(void)
{
    pthread_t t;

    wide_from.pointer[4] = wide_target;
    bounded_from.pointer = bounded_target;
    text_from.pointer = text_target;
    putenv(environment);
    strtok(tokens, " ");
    sscanf("text", "%ms", &scanned);
    fixed = mmap(reserved, sizeof(reserved), PROT_READ | PROT_WRITE,
                 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    request.aio_sigevent.sigev_notify = SIGEV_THREAD;
    request.aio_sigevent.sigev_notify_function = done;
    pthread_create(&t, NULL, run, NULL);
    wide_target[3] = 2;    // [wide_b]
    bounded_target[3] = 2; // [bounded_b]
    text_target[3] = 2;    // [text_b]
    separated[9] = 2;      // [sep_b]
    tokens[2] = 2;         // [token_b]
    environment[5] = 2;    // [env_b]
    scanned[0] = 2;        // [scan_b]
    reserved[5] = 2;       // [fixed_b]
    users[7] = 2;          // [user_b]
    pthread_join(t, NULL);
    aio_read(&request);
    finished++; // [async_b]
    pure++;     // [pure_b]
    return (int)pure + finished;
}
