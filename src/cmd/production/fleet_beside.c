/* fleet_beside.c - the store is asked by a process of its own, beside the program
 *
 * Both ends of a pair of sockets exchange small messages, none of which is ever waited for:
 *
 *     to the command    's' text      to be said with --verbose
 *                       'b'           the store answers, and this run makes the static pairs
 *                       'a' tries     the assignment is in the shared file
 *                       'p'           there is nothing to do
 *     from the command  'y', 'n'      it is taken up; it came too late (one of them, once)
 *                       'f'           look into the spool
 *                       'e'           the program has ended: look a last time and end
 *
 * The assignment is a result (one line of JSON) in a file in memory, since what caper gets of the
 * store may be large; reading it checks everything that comes from the store.
 */
#include "cmd/production/fleet_beside.h"
#include "base/alloc.h"
#include "base/seconds.h"
#include "fleet/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    END_MS = 800,        /* that a result is waited for: nothing is lost where it takes longer */
    PATIENCE_MS = 20000, /* with a store that is busy or away: as long as SQLite waits for a lock */
    LINGER_S = 20,       /* after the command's end; then the next run has its turn */
    DESCRIPTORS = 16,    /* that a watched run needs: ours, the control file, those of launch.c */
    MESSAGE_BYTES = 1300
};

struct assignment {
    char letter; /* 'a' */
    uint64_t tries;
};

/* ---- the process beside ---- */

struct beside {
    struct fleet_job *job;
    int fd;     /* to the command */
    int shared; /* file in memory */
    bool late, over;
    double renew_at;
};

static volatile sig_atomic_t linger_s = LINGER_S;
static volatile sig_atomic_t is_alone; /* the command is gone */
static int linger_lock = -1;           /* who holds it may go on for a while */

/* First the kernel says that the command is gone, then the time is up. */
static void on_alarm(int sig)
{
    (void)sig;
    if (is_alone || linger_lock < 0 || flock(linger_lock, LOCK_EX | LOCK_NB) < 0)
        _exit(0);
    is_alone = 1;
    alarm((unsigned)linger_s);
}

static void close_others(int a, int b, int c)
{
    int keep[3] = { a, b, c };
    unsigned from = 3;

    for (int i = 0; i < 3; i++)
        for (int k = 0; k + 1 < 3; k++)
            if (keep[k] > keep[k + 1]) {
                int t = keep[k];

                keep[k] = keep[k + 1];
                keep[k + 1] = t;
            }
    for (int i = 0; i < 3; i++) {
        if (keep[i] < 3)
            continue;
        if ((unsigned)keep[i] > from)
            syscall(SYS_close_range, from, (unsigned)keep[i] - 1, 0);
        from = (unsigned)keep[i] + 1;
    }
    syscall(SYS_close_range, from, ~0u, 0);
}

/* Nothing here may keep a pipe, a lock or a terminal of somebody else alive. */
static void detach(const struct beside *b, pid_t command)
{
    const struct fleet_place *at = &b->job->place;
    char *path = spool_path_for(at->spool, "deliver", at->where);
    struct sigaction act = { .sa_handler = on_alarm };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    setsid();
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    linger_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    close_others(b->fd, b->shared, linger_lock);
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGPIPE)
            signal(sig, SIG_DFL);
    sigaction(SIGALRM, &act, NULL);
    sigemptyset(&none); /* who started us may have blocked it */
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_NAME, "heddle-fleet");
    prctl(PR_SET_PDEATHSIG, SIGALRM);
    if (getppid() != command)
        raise(SIGALRM);
}

static void fleet_beside_tell(const struct beside *b, const void *message, size_t n)
{
    (void)!send(b->fd, message, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What the command has said, or nothing for so long; it is gone: 'e'. */
static char listen_for(struct beside *b, int ms)
{
    struct pollfd p = { .fd = b->fd, .events = POLLIN };
    char letter = 'e';
    int r = poll(&p, 1, ms);

    if (r == 0 || (r < 0 && errno == EINTR))
        return 0;
    if (recv(b->fd, &letter, 1, MSG_DONTWAIT) <= 0)
        letter = 'e';
    b->late |= letter == 'n';
    b->over |= letter == 'e';
    return letter;
}

static bool is_unwanted(struct beside *b)
{
    listen_for(b, 0);
    return b->late || b->over;
}

/* A store that was away may be back. */
static bool has_store(struct fleet_job *j, int patience_ms)
{
    struct error err;

    if (j->store)
        return true;
    j->store = store_open(j->place.where, SQL_CREATE, patience_ms, &err);
    if (!j->store)
        fleet_say(j, "%s", err.text);
    return j->store != NULL;
}

static void deliver(struct beside *b)
{
    struct spool_counts counts;
    struct fleet_job *j = b->job;
    struct error err;

    if (!has_store(j, 0))
        return;
    spool_flush(j->place.spool, j->store, &counts, &err);
    if (counts.put > b->over) /* the last one is this run's */
        fleet_say(j, "results of earlier runs that are put now: %" PRIu64, counts.put - b->over);
    if (counts.failed)
        fleet_say(j, "%s", err.text);
    if (counts.bad)
        fleet_say(j, "%" PRIu64 " files in '%s' are no results", counts.bad, j->place.spool);
}

/* The analysis, where it falls to us: it may take minutes, and then outlive the command. */
static void fleet_beside_analyse(struct beside *b)
{
    fleet_beside_tell(b, "b", 1);
    linger_s = STORE_LEASE_MS / 1000;
    fleet_analyse(b->job);
    linger_s = LINGER_S;
    if (is_alone)
        alarm(LINGER_S);
}

/* 0, or -1: there is nothing to do. */
static int claim(struct beside *b, uint64_t *tries)
{
    struct fleet_job *j = b->job;

    for (int round = 0; round < 2 && !is_unwanted(b); round++) {
        struct store_claim c;
        struct error err;

        if (store_claim(j->store, &j->result, j->lease_ms, &c, &err) < 0) {
            fleet_say(j, "%s", err.text);
            return -1;
        }
        spool_set_away(j->place.spool, j->place.where, false);
        j->result.kind = c.kind;
        j->result.s1 = fleet_string(&j->result, c.s1);
        j->result.s2 = fleet_string(&j->result, c.s2);
        *tries = c.tries;
        store_claim_release(&c);
        if (j->result.kind != FLEET_STATIC)
            return 0;
        fleet_beside_analyse(b);
        fleet_new_result(j);
    }
    return -1;
}

/* With what the store knows, which caper needs. */
static int write_assignment(struct beside *b)
{
    struct fleet_job *j = b->job;
    struct fleet_result known = { 0 };
    FILE *out = fdopen(dup(b->shared), "w");
    int code = out ? 0 : -1;

    if (code == 0 && j->result.kind == FLEET_CAPER)
        code = fleet_caper_prepare(j, &known);
    for (size_t i = 0; code == 0 && i < known.nescaped; i++)
        fleet_add_escaped(&j->result, known.escaped[i]);
    if (code == 0)
        fleet_result_write(&j->result, out);
    if (out && (fflush(out) != 0 || ferror(out)))
        code = -1;
    if (out)
        fclose(out);
    fleet_result_release(&known);
    return code;
}

/* True: the command takes it. */
static bool hand_over(struct beside *b, uint64_t tries)
{
    struct assignment a = { 'a', tries };

    if (is_unwanted(b) || write_assignment(b) < 0)
        return false;
    fleet_beside_tell(b, &a, sizeof(a));
    for (;;) {
        char letter = listen_for(b, -1);

        if (letter == 'y' || b->late || b->over)
            return letter == 'y';
    }
}

static void renew(struct beside *b)
{
    struct error err;

    if (b->renew_at && seconds_now() >= b->renew_at) {
        store_renew(b->job->store, b->job->result.run, b->job->lease_ms, &err);
        b->renew_at = seconds_now() + (double)b->job->lease_ms / 3000;
    }
}

static void get_to_work(struct beside *b)
{
    struct fleet_job *j = b->job;
    uint64_t tries = 0;
    struct error err;

    if (!has_store(j, PATIENCE_MS) || claim(b, &tries) < 0 || j->result.kind == FLEET_PLAIN) {
        fleet_beside_tell(b, "p", 1);
        return;
    }
    if (hand_over(b, tries)) {
        b->renew_at = seconds_now() + (double)j->lease_ms / 3000;
        return;
    }
    if (store_give_back(j->store, &j->result, &err) < 0)
        fleet_say(j, "%s", err.text); /* then its lease ends it */
    else
        fleet_say(j, "what the store wanted done came too late and is given back");
    fleet_beside_tell(b, "p", 1);
}

static _Noreturn void beside(struct fleet_job *j, int fd, int shared, pid_t command)
{
    struct beside b = { .job = j, .fd = fd, .shared = shared };

    j->talk = fd;
    detach(&b, command);
    get_to_work(&b);
    fleet_adopt_orphans(j);
    deliver(&b);
    while (!b.over) {
        double left = b.renew_at ? b.renew_at - seconds_now() : 3600;

        if (listen_for(&b, left < 0 ? 0 : (int)(left * 1000) + 1))
            deliver(&b);
        renew(&b);
    }
    store_close(j->store);
    _exit(0);
}

/* ---- in the command ---- */

/* A program that may have few files gets all of them; we do without. */
static bool has_descriptors(void)
{
    int fds[DESCRIPTORS], n = 0;

    while (n < DESCRIPTORS && (fds[n] = fcntl(0, F_DUPFD_CLOEXEC, 3)) >= 0)
        n++;
    for (int i = 0; i < n; i++)
        close(fds[i]);
    return n == DESCRIPTORS;
}

void fleet_beside_start(struct fleet_job *j)
{
    int ends[2] = { -1, -1 };
    pid_t self = getpid();

    j->beside = (struct fleet_beside){ .fd = -1, .shared = -1 };
    if (!has_descriptors()) {
        j->result.note = "too few descriptors are free";
        warn("fleet", "too few files may be open (ulimit -n): '%s' runs plain", j->argv[0]);
        return;
    }
    j->beside.shared = memfd_create("heddle-fleet", MFD_CLOEXEC);
    if (j->beside.shared < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        fleet_say(j, "the store is not asked: %s", strerror(errno));
        return;
    }
    fflush(NULL);
    j->beside.pid = fork();
    if (j->beside.pid == 0) {
        close(ends[0]);
        beside(j, ends[1], j->beside.shared, self);
    }
    close(ends[1]);
    j->beside.fd = ends[0];
    if (j->beside.pid > 0)
        return;
    fleet_say(j, "the store is not asked: %s", strerror(errno));
    close(ends[0]);
    j->beside.fd = -1;
}

static void say_to(const struct fleet_job *j, char letter)
{
    if (j->beside.fd >= 0)
        (void)!send(j->beside.fd, &letter, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The next message before the time is up: its first letter; 0: none, 'g': the process is gone. */
static char next_message(const struct fleet_job *j, double until, struct assignment *a)
{
    struct pollfd p = { .fd = j->beside.fd, .events = POLLIN };
    char text[MESSAGE_BYTES + 1];
    double left = until - seconds_now();
    ssize_t n;

    if (poll(&p, 1, left < 0 ? 0 : (int)(left * 1000) + 1) <= 0)
        return 0;
    n = recv(j->beside.fd, text, MESSAGE_BYTES, MSG_DONTWAIT);
    if (n <= 0)
        return 'g';
    text[n] = 0;
    if (text[0] == 's')
        fleet_say(j, "%s", text + 1);
    if (text[0] == 'a' && n == sizeof(*a))
        memcpy(a, text, sizeof(*a));
    return text[0];
}

static bool fleet_beside_take(struct fleet_job *j, const struct assignment *a)
{
    struct error err = { { 0 } };
    off_t bytes = lseek(j->beside.shared, 0, SEEK_END);
    char *text = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, j->beside.shared, 0)
                           : MAP_FAILED;
    struct fleet_result *given = &j->known;
    int code = text == MAP_FAILED ? -1 : fleet_result_read(given, text, (size_t)bytes, &err);

    if (text != MAP_FAILED)
        munmap(text, (size_t)bytes);
    if (code < 0) {
        fleet_say(j, "what the store wanted done makes no sense: %s", err.text);
        return false;
    }
    memcpy(j->result.run, given->run, sizeof(given->run));
    j->result.kind = given->kind;
    j->result.s1 = fleet_string(&j->result, given->s1);
    j->result.s2 = fleet_string(&j->result, given->s2);
    j->tries = a->tries;
    return true;
}

/* Why the run is plain; NULL: the store wants it so. */
static const char *reason(const struct fleet_job *j, char letter, bool answers)
{
    if (j->beside.fd < 0)
        return j->result.note;
    if (letter)
        return NULL;
    return answers ? "its static pairs were still being made" : "the store did not answer in time";
}

bool fleet_beside_ask(struct fleet_job *j)
{
    bool away = spool_is_away(j->place.spool, j->place.where), answers = false, taken = false;
    double until = away ? seconds_now() : j->began + (double)j->wait_ns / 1e9;
    struct assignment a = { 0 };
    char letter = j->beside.fd < 0 ? 'p' : 's';
    const char *note;

    while (letter == 's' || letter == 'b') {
        letter = next_message(j, until, &a);
        answers |= letter == 'b';
    }
    if (letter == 'a')
        taken = fleet_beside_take(j, &a);
    say_to(j, taken ? 'y' : 'n');
    if (!letter && !answers && !away)
        spool_set_away(j->place.spool, j->place.where, true);
    if (j->beside.shared >= 0)
        close(j->beside.shared);
    j->beside.shared = -1;
    if (taken)
        return true;
    note = reason(j, letter, answers);
    fleet_new_result(j); /* the old id may stand for something that is to be given back */
    j->result.note = note;
    return false;
}

void fleet_beside_poke(const struct fleet_job *j)
{
    say_to(j, 'f');
}

bool fleet_beside_end(struct fleet_job *j)
{
    double until =
        seconds_now() + (spool_is_away(j->place.spool, j->place.where) ? 0 : END_MS / 1e3);
    char letter = 's';
    struct assignment a;

    if (j->beside.fd < 0)
        return false;
    say_to(j, 'e');
    while (letter && letter != 'g')
        letter = next_message(j, until, &a);
    close(j->beside.fd);
    j->beside.fd = -1;
    if (letter == 'g')
        while (waitpid(j->beside.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    return letter == 'g';
}
