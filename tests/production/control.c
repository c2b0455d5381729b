/* control.c - runs a program under a control file of mode "count" and prints what the runtime said
 *
 *     control [-p WAY] [-s MODULE:INDEX]... [-t TIMES] [-q] -- PROGRAM [ARGUMENT]...
 *
 * Without -s all sites are patched, with -s those; -t switches TIMES between all sites, none that
 * is known, and those of -s, while the program runs, waiting each time until it is taken up. WAY is
 * the runtime's option "patch". Prints one line "name value" for each number; exits as the program
 * did.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include "abi/rt_prod.h"

static struct prod_control *control;
static struct prod_site given[PROD_SITES_MAX];
static unsigned ngiven;

static void fail(const char *what)
{
    perror(what);
    exit(125);
}

static void make_control(char *path)
{
    int fd = mkstemp(path);

    if (fd < 0 || ftruncate(fd, sizeof(*control)))
        fail(path);
    control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (control == MAP_FAILED)
        fail("mmap");
    close(fd);
    memcpy(control->magic, PROD_MAGIC, 8);
    control->version = PROD_VERSION;
    control->mode = PROD_COUNT;
    control->generation = 2;
    memcpy(control->site[0], given, sizeof(given));
    control->nsites[0] = ngiven;
}

static void add_site(const char *text)
{
    struct prod_site *s = &given[ngiven++];

    if (sscanf(text, "%16lx%16lx:%u", &s->module[0], &s->module[1], &s->index) != 3)
        fail(text);
}

/* The sites of the next round: all, one that nobody has, the given ones. */
static void switch_sites(unsigned round)
{
    static const struct prod_site nobodys = { { 1, 1 }, 0, 0 };

    __atomic_fetch_add(&control->generation, 1, __ATOMIC_ACQ_REL);
    control->nsites[0] = round % 3 == 0 ? 0 : round % 3 == 1 ? 1 : ngiven;
    if (round % 3 == 1)
        control->site[0][0] = nobodys;
    else
        memcpy(control->site[0], given, sizeof(given));
    __atomic_fetch_add(&control->generation, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, &control->generation, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static bool wait_taken_up(pid_t pid)
{
    struct timespec slice = { 0, 1000 * 1000 };

    for (;;) {
        uint32_t t = __atomic_load_n(&control->taken_up, __ATOMIC_ACQUIRE);

        if (t == control->generation)
            return true;
        if (has_ended(pid))
            return false;
        syscall(SYS_futex, &control->taken_up, FUTEX_WAIT, t, &slice, NULL, 0);
    }
}

static pid_t start(const char *path, const char *way, char **argv)
{
    char line[512];
    pid_t pid;

    snprintf(line, sizeof(line), "control=%s\npatch=%s", path, way);
    setenv("HEDDLE_RT", line, 1);
    pid = fork();
    if (pid == 0) {
        execvp(argv[0], argv);
        fail(argv[0]);
    }
    return pid;
}

static unsigned toggle(pid_t pid, unsigned times)
{
    unsigned done = 0;

    while (!has_ended(pid) && control->taken_up == 0)
        usleep(1000);
    for (; done < times && !has_ended(pid); done++) {
        switch_sites(done);
        if (!wait_taken_up(pid))
            break;
    }
    return done;
}

static void print(unsigned switches)
{
    static const char *const names[] = { "sync",   "alloc",   "free",   "fork",
                                         "begin",  "end",     "join",   "images",
                                         "forked", "ticks",   "ends",   "changes",
                                         "bytes0", "places0", "bytes1", "places1" };

    printf("taken_up %u\npatched %u\nerror %s\nunknown %u\nswitches %u\n", control->taken_up,
           control->patched, control->patch_errno ? strerrorname_np(control->patch_errno) : "0",
           control->unknown, switches);
    printf("hits0 %lu\nhits1 %lu\n", control->hits[0], control->hits[1]);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        printf("%s %lu\n", names[i], control->counter[i]);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/heddle-control-XXXXXX";
    const char *way = "auto";
    unsigned times = 0, switches;
    bool quiet = false;
    int option, status;
    pid_t pid;

    while ((option = getopt(argc, argv, "+p:s:t:q")) != -1) {
        if (option == 'p')
            way = optarg;
        else if (option == 's' && ngiven < PROD_SITES_MAX)
            add_site(optarg);
        else if (option == 't')
            times = (unsigned)atoi(optarg);
        else if (option == 'q')
            quiet = true;
    }
    if (optind >= argc) {
        fprintf(stderr, "usage: control [-p WAY] [-s SITE]... [-t TIMES] [-q] -- PROGRAM...\n");
        return 129;
    }
    make_control(path);
    pid = start(path, way, argv + optind);
    switches = toggle(pid, times);
    if (times)
        kill(pid, SIGUSR1); /* programs that run until then */
    if (waitpid(pid, &status, 0) < 0)
        fail("waitpid");
    if (!quiet)
        print(switches);
    unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
