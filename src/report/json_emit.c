/* json_emit.c - writing JSON: commas, indentation, escapes */
#include "report/json_emit.h"
#include "base/assert.h"

#include <inttypes.h>
#include <string.h>

static void start_line(struct emitter *e)
{
    if (e->dense)
        return;
    fputc('\n', e->out);
    for (int i = 0; i < e->depth; i++)
        fputs("  ", e->out);
}

/* Runs that need no escape go out in one piece. */
static void put_text(struct emitter *e, const char *s, size_t len)
{
    size_t done = 0;

    fputc('"', e->out);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        fwrite(s + done, 1, i - done, e->out);
        if (c < 0x20)
            fprintf(e->out, "\\u%04x", c);
        else
            fprintf(e->out, "\\%c", c);
        done = i + 1;
    }
    fwrite(s + done, 1, len - done, e->out);
    fputc('"', e->out);
}

/* What comes before every value: the comma, the line, the key. */
static void lead_in(struct emitter *e, const char *key)
{
    if (e->depth > 0) {
        struct emit_level *level = &e->levels[e->depth - 1];

        if (level->any)
            fputc(',', e->out);
        if (!level->compact)
            start_line(e);
        else if (level->any && !e->dense)
            fputc(' ', e->out);
        level->any = true;
    }
    if (key) {
        put_text(e, key, strlen(key));
        fputs(e->dense ? ":" : ": ", e->out);
    }
}

void emit_open(struct emitter *e, const char *key, char bracket, bool compact)
{
    invariant(e->depth < EMIT_DEPTH);
    lead_in(e, key);
    fputc(bracket, e->out);
    e->levels[e->depth++] = (struct emit_level){ bracket == '{' ? '}' : ']', compact, false };
}

void emit_close(struct emitter *e)
{
    struct emit_level level = e->levels[--e->depth];

    if (level.any && !level.compact)
        start_line(e);
    fputc(level.close, e->out);
}

void emit_text(struct emitter *e, const char *key, const char *value, size_t len)
{
    lead_in(e, key);
    put_text(e, value, len);
}

void emit_string(struct emitter *e, const char *key, const char *value)
{
    emit_text(e, key, value, strlen(value));
}

void emit_string_if(struct emitter *e, const char *key, const char *value)
{
    if (value)
        emit_string(e, key, value);
}

void emit_number(struct emitter *e, const char *key, uint64_t value)
{
    lead_in(e, key);
    fprintf(e->out, "%" PRIu64, value);
}

void emit_seconds(struct emitter *e, const char *key, double value)
{
    lead_in(e, key);
    fprintf(e->out, "%.6f", value);
}

void emit_bool(struct emitter *e, const char *key, bool value)
{
    lead_in(e, key);
    fputs(value ? "true" : "false", e->out);
}
