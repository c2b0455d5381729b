/* repeated.h - a program that is run again and again: its streams, and its end
 *
 * What it prints goes to a file, for the tenth run shall not print its results for the tenth
 * time. Its input is ours if that is a file, from the start, or nothing: what came through a pipe
 * or was typed is gone.
 *
 *     streams_divert(&streams, path), streams_restore(&streams)
 *     watchdog_start(&dog), watchdog_stop(&dog)      around the run of dog.recording
 *
 * A program that does not end by itself within limit_ns gets SIGTERM, and SIGKILL two seconds
 * later; then bit is set, which may be read once the watchdog has stopped.
 */
#ifndef HEDDLE_CMD_REPEATED_H
#define HEDDLE_CMD_REPEATED_H

#include "cmd/recording.h"

#include <pthread.h>

struct streams {
    int saved[3];
};

void streams_divert(struct streams *s, const char *output);
void streams_restore(struct streams *s);

struct watchdog {
    uint64_t limit_ns;
    const struct recording *recording;
    bool bit;
    pthread_t thread;
    bool running;
    uint32_t stop; /* futex */
};

void watchdog_start(struct watchdog *w);
void watchdog_stop(struct watchdog *w);

#endif
