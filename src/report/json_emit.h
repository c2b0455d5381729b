/* json_emit.h - writing JSON: commas, indentation, escapes
 *
 * Objects and arrays are either spread, one member a line, or compact, all on
 * one line. The caller's calls nest as the JSON does:
 *
 *     emit_open(&e, NULL, '{', false);
 *     emit_number(&e, "schema", 1);
 *     emit_close(&e);
 */
#ifndef HEDDLE_REPORT_JSON_EMIT_H
#define HEDDLE_REPORT_JSON_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EMIT_DEPTH = 16 };

struct emitter {
    FILE *out;
    bool dense; /* all on one line, without blanks */
    int depth;
    struct emit_level {
        char close;
        bool compact;
        bool any;
    } levels[EMIT_DEPTH];
};

/* `key` is NULL for elements of an array (and for the outermost value). */
void emit_open(struct emitter *e, const char *key, char bracket, bool compact);
void emit_close(struct emitter *e);
void emit_text(struct emitter *e, const char *key, const char *value, size_t len);
void emit_string(struct emitter *e, const char *key, const char *value);
void emit_string_if(struct emitter *e, const char *key, const char *value); /* unless NULL */
void emit_number(struct emitter *e, const char *key, uint64_t value);
void emit_seconds(struct emitter *e, const char *key, double value);
void emit_bool(struct emitter *e, const char *key, bool value);

#endif
