/* suppress.h - rules that say which findings not to report
 *
 * Three syntaxes, told apart by their lines, also mixed in one file:
 *   ThreadSanitizer   race:PATTERN, race_top:, called_from_lib:, deadlock:,
 *                     mutex:, thread:, signal: (the last three concern reports
 *                     that Heddle does not make)
 *   Valgrind          blocks of { name, tool:kind, fun:/obj:/src:/... lines };
 *                     those of Helgrind and DRD about races and lock orders count
 *   ours              id:RACE (fingerprint), variable:PATTERN, location:PATTERN
 * Everything else is an error with file and line. docs/man5/heddle-suppressions.5
 * is the manual.
 *
 * Rules are applied to findings, after the analysis; each counts its hits.
 * Ownership: the set owns its texts. Concurrency: none. A zeroed set is empty.
 */
#ifndef HEDDLE_REPORT_SUPPRESS_H
#define HEDDLE_REPORT_SUPPRESS_H

#include "base/arena.h"
#include "base/error.h"
#include "report/findings.h"

enum rule_kind {
    RULE_RACE,     /* any frame of either side, or the variable */
    RULE_RACE_TOP, /* the innermost frame of either side */
    RULE_FD_RACE,  /* any frame of either side of a race on a file descriptor */
    RULE_LIB,      /* the innermost frames are code of this library */
    RULE_DEADLOCK, /* any frame of any request */
    RULE_BLOCK,    /* Valgrind: a stack that begins like this, of a race */
    RULE_BLOCK_DEADLOCK,
    RULE_ID,
    RULE_VARIABLE,
    RULE_LOCATION,
    RULE_NOTHING /* for other tools, or other reports */
};

struct suppress_rule {
    enum rule_kind kind;
    const char *text;    /* as it stands in the file; of a block its name */
    const char *pattern; /* behind the keyword; NULL for blocks */
    const char **lines;  /* of a block: "fun:main", "...", ... */
    size_t nlines;
    const char *file;
    unsigned line;
    uint64_t hits; /* findings it has taken away */
};

struct suppressions {
    struct suppress_rule *rules;
    size_t count, cap;
    struct arena memory;
};

/* Read rules from a text that is called `name`. 0, or -1 and "name:3: unknown ..." */
int suppressions_parse(struct suppressions *s, const char *name, const char *text,
                       struct error *err);
int suppressions_read(struct suppressions *s, const char *path, struct error *err);
void suppressions_release(struct suppressions *s);

/* Take away what a rule matches; findings.suppressed counts. Cost: linear in the rules and in the
 * different texts of the findings; blocks that do not begin with the plain name of a function, and
 * patterns with a * whose longest piece a text holds, are compared with each. */
void suppressions_apply(struct suppressions *s, struct findings *f);

#endif
