/* error.h - what went wrong, for the caller to print
 *
 * Libraries never print: they fill a struct error and return -1 (or NULL).
 * The text is lower case, has no full stop, names what failed first and
 * quotes its subject: "chunk 17: bad checksum".
 * Ownership: plain storage of the caller; nothing to release.
 */
#ifndef HEDDLE_BASE_ERROR_H
#define HEDDLE_BASE_ERROR_H

struct error {
    char text[1024];
};

/* Format the message; always returns -1, so that `return error_set(...)` reads well. */
int error_set(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "prefix: " before the message already there; returns -1. */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
