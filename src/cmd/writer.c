/* writer.c - heddle writer: the process that writes a recorded program's trace
 *
 * Not for people: the runtime in the recorded program starts it, with the
 * shared memory on a descriptor (docs/design/recording.md). It must not be a
 * child that the program could wait for, nor hold any file of the program's, or
 * whoever reads the program's output would wait for us too; and it outlives
 * whatever ends the program, Ctrl-C included.
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USAGE                                                                                      \
    "heddle: usage: heddle writer --fd=N [--dir=DIR] [--name=TEMPLATE] [--run=LIST]\n"             \
    "        [--max-size=BYTES] [--last-ms=N] [--last-bytes=N] [--compression=zstd|lz4|none] "     \
    "[--level=N] [--workers=N]\n"                                                                  \
    "        [--shared] [--stopped] [--foreground]\n"

enum { START_MS = 20000 }; /* a file system may be slow; longer, and the program goes on alone */

struct writer {
    int fd;
    bool foreground; /* for tests */
    bool shared;     /* the umask says who may read what is written */
    struct recorder_options options;
};

/* "--name=VALUE" or "--name VALUE"; *i moves on. NULL: another option. */
static const char *option_value(char **argv, int argc, int *i, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(argv[*i], name, n))
        return NULL;
    if (argv[*i][n] == '=')
        return argv[*i] + n + 1;
    if (argv[*i][n] || *i + 1 == argc)
        return NULL;
    return argv[++*i];
}

static bool set_compression(struct sink_options *o, const char *name)
{
    static const char *const names[] = { "none", "lz4", "zstd" };

    for (int i = 0; i < 3; i++) {
        if (!strcmp(name, names[i])) {
            o->compression = (enum hdl_compression)i;
            return true;
        }
    }
    return false;
}

static bool parse_option(struct writer *w, char **argv, int argc, int *i)
{
    struct sink_options *o = &w->options.sink;
    const char *v;

    if (!strcmp(argv[*i], "--foreground"))
        w->foreground = true;
    else if (!strcmp(argv[*i], "--stopped"))
        w->options.stopped = true;
    else if (!strcmp(argv[*i], "--shared"))
        w->shared = true;
    else if ((v = option_value(argv, argc, i, "--fd")))
        w->fd = atoi(v);
    else if ((v = option_value(argv, argc, i, "--dir")))
        o->directory = v;
    else if ((v = option_value(argv, argc, i, "--name")))
        o->name = v;
    else if ((v = option_value(argv, argc, i, "--run")))
        o->list = v;
    else if ((v = option_value(argv, argc, i, "--max-size")))
        o->max_bytes = strtoull(v, NULL, 10);
    else if ((v = option_value(argv, argc, i, "--last-ms")))
        o->keep_ns = strtoull(v, NULL, 10) * 1000000;
    else if ((v = option_value(argv, argc, i, "--last-bytes")))
        o->keep_bytes = strtoull(v, NULL, 10);
    else if ((v = option_value(argv, argc, i, "--level")))
        o->level = atoi(v);
    else if ((v = option_value(argv, argc, i, "--workers")))
        w->options.workers = (unsigned)atoi(v);
    else if ((v = option_value(argv, argc, i, "--compression")))
        return set_compression(o, v);
    else
        return false;
    return true;
}

static void ignore_signals(void)
{
    static const int signals[] = { SIGINT,  SIGTERM, SIGHUP,  SIGPIPE, SIGQUIT,
                                   SIGTSTP, SIGTTOU, SIGUSR1, SIGUSR2, SIGXFSZ };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
}

/* What was allowed to the program is not meant for us, as far as that can be helped. */
static void raise_limits(void)
{
    static const int limits[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE };
    struct rlimit l;

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (getrlimit(limits[i], &l) == 0) {
            l.rlim_cur = l.rlim_max;
            (void)setrlimit(limits[i], &l);
        }
    }
}

/* Descriptors: nothing but the memory, which becomes number 3. */
static void close_files(struct writer *w)
{
    int null = open("/dev/null", O_RDWR);

    if (w->fd != 3) {
        dup2(w->fd, 3);
        w->fd = 3;
    }
    for (int fd = 0; fd <= 2; fd++)
        if (null >= 0)
            dup2(null, fd);
    if (syscall(SYS_close_range, 4u, ~0u, 0u) < 0) /* before Linux 5.9 */
        for (long fd = 4, end = sysconf(_SC_OPEN_MAX); fd < end && fd < 1 << 16; fd++)
            close((int)fd);
}

/* A session of its own, and not the child of anybody who waits. The parent, for which the program
 * waits, ends when the child has told the program how its start went, or is dead, or takes too
 * long. */
static void writer_leave(struct writer *w)
{
    int told[2];
    pid_t child = pipe2(told, O_CLOEXEC) < 0 ? -1 : fork();

    if (child < 0)
        _exit(EXIT_OWN_FAILURE);
    if (child > 0) {
        close(told[1]);
        poll(&(struct pollfd){ .fd = told[0], .events = POLLIN }, 1, START_MS);
        _exit(0);
    }
    close(told[0]);
    w->options.told = told[1];
    setsid();
}

int cmd_writer(int argc, char **argv)
{
    struct writer w = { .fd = -1, .options.sink.compression = HDL_LZ4 };
    struct error err;
    struct ring ring;
    int r;

    for (int i = 0; i < argc; i++) {
        if (!parse_option(&w, argv, argc, &i)) {
            fputs(USAGE, stderr);
            return EXIT_USAGE;
        }
    }
    if (!w.shared) /* the directory, too, where the program runs alone and it is not there */
        umask(077);
    ignore_signals();
    raise_limits();
    if (!w.foreground) {
        close_files(&w);
        writer_leave(&w);
    }
    if (ring_open(&ring, w.fd, &err) < 0)
        return own_failure("writer: %s", err.text);
    close(w.fd);
    r = recorder_run(&ring, &w.options, &err);
    ring_close(&ring);
    return r < 0 ? own_failure("writer: %s", err.text) : EXIT_NOTHING;
}
