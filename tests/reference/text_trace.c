/* text_trace.c - a trace from a string of STD lines, for tests */
#include "text_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what, const char *why)
{
    fprintf(stderr, "cannot %s: %s\n", what, why);
    abort();
}

void scratch_path(char *out, size_t size, const char *suffix)
{
    const char *dir = getenv("TMPDIR");

    snprintf(out, size, "%s/heddle-test-%ld%s", dir ? dir : "/tmp", (long)getpid(), suffix);
}

void scratch_write(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "w");

    if (!f || fwrite(data, 1, len, f) != len || fclose(f))
        die("write a scratch file", path);
}

void text_trace_open(struct text_trace *t, const char *text)
{
    struct error err = { "" };
    char path[256];

    scratch_path(path, sizeof(path), ".std");
    scratch_write(path, text, strlen(text));
    t->trace = trace_open(path, &err);
    if (!t->trace || trace_load(t->trace, 1 << 20, &t->mem, &err))
        die("read a trace", err.text);
    unlink(path);
}

void text_trace_close(struct text_trace *t)
{
    trace_mem_release(&t->mem);
    trace_close(t->trace);
}
