/* recorded.h - showing how a recorded trace was made; nothing is written about others */
#ifndef HEDDLE_REPORT_RECORDED_H
#define HEDDLE_REPORT_RECORDED_H

#include "report/json_emit.h"
#include "report/findings.h"

/* "modules: 14 traced, 3 not (libz.so.1, ...)", then counters and notes where there are any. */
void recording_text(const struct findings_recording *r, FILE *out);
/* Members of the JSON object `trace`. */
void recording_emit(const struct findings_recording *r, struct emitter *e);

#endif
