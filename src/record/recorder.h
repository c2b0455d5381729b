/* recorder.h - record one process: from its shared memory to a complete file
 *
 *     ring_open(&ring, fd, &err);
 *     recorder_run(&ring, &options, &err);      until the process is gone
 */
#ifndef HEDDLE_RECORD_RECORDER_H
#define HEDDLE_RECORD_RECORDER_H

#include "record/sink.h"

struct recorder_options {
    struct sink_options sink;
    bool stopped;     /* at first; until somebody asks for it */
    unsigned workers; /* 0: as many as there are processors, at most 4 */
    int told;         /* descriptor to close when the process has been told; 0: none */
};

/* Tells the process when it is ready, or that it failed. Returns when the process is gone and the
 * file complete; -1 and an error where there is no file, or it is not complete. */
int recorder_run(struct ring *r, const struct recorder_options *options, struct error *err);

#endif
