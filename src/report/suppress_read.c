/* suppress_read.c - rules from a file, in three syntaxes */
#include "report/suppress.h"
#include "base/alloc.h"
#include "base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A text read line by line. */
struct reader {
    struct suppressions *s;
    const char *name; /* of the file, ours */
    const char *next;
    unsigned line;
    char *text; /* of the present line, trimmed, ours */
};

static const struct {
    const char *word;
    enum rule_kind kind;
} keywords[] = {
    { "fd_race", RULE_FD_RACE },     { "fd-race", RULE_FD_RACE },
    { "race", RULE_RACE },           { "race_top", RULE_RACE_TOP },
    { "called_from_lib", RULE_LIB }, { "deadlock", RULE_DEADLOCK },
    { "mutex", RULE_NOTHING },       { "thread", RULE_NOTHING },
    { "signal", RULE_NOTHING },      { "id", RULE_ID },
    { "variable", RULE_VARIABLE },   { "location", RULE_LOCATION },
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The next line that says something; false at the end. */
static bool next_line(struct reader *r)
{
    while (*r->next) {
        const char *from = r->next, *to = strchrnul(from, '\n');

        r->next = *to ? to + 1 : to;
        r->line++;
        while (from < to && is_blank(*from))
            from++;
        while (to > from && is_blank(to[-1]))
            to--;
        if (from == to || *from == '#')
            continue;
        r->text = arena_strndup(&r->s->memory, from, (size_t)(to - from));
        return true;
    }
    return false;
}

static int suppress_read_fail(const struct reader *r, struct error *err, const char *what)
{
    return error_set(err, "%s:%u: %s", r->name, r->line, what);
}

static struct suppress_rule *add_rule(struct reader *r, enum rule_kind kind, const char *text)
{
    struct suppressions *s = r->s;

    GROW(s->rules, s->cap, s->count + 1);
    s->rules[s->count] =
        (struct suppress_rule){ .kind = kind, .text = text, .file = r->name, .line = r->line };
    return &s->rules[s->count++];
}

/* "race:foo" */
static int read_line(struct reader *r, struct error *err)
{
    char *colon = strchr(r->text, ':');
    size_t n = colon ? (size_t)(colon - r->text) : 0;

    if (!colon)
        return suppress_read_fail(r, err, "neither 'keyword:pattern' nor the start of a block");
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (strlen(keywords[i].word) == n && memcmp(keywords[i].word, r->text, n) == 0) {
            if (!colon[1])
                return suppress_read_fail(r, err, "the pattern is missing");
            add_rule(r, keywords[i].kind, r->text)->pattern = colon + 1;
            return 0;
        }
    *colon = 0;
    return error_set(err, "%s:%u: unknown keyword '%s'", r->name, r->line, r->text);
}

/* ---- Valgrind ---- */

/* "Helgrind:Race", "drd,Helgrind:..." */
static enum rule_kind block_kind(const char *text)
{
    const char *colon = strchr(text, ':');
    const char *what = colon ? colon + 1 : "";
    bool ours = strcasestr(text, "helgrind") || strcasestr(text, "drd") || *text == '*';

    if (!colon || !ours)
        return RULE_NOTHING;
    if (strcasecmp(what, "Race") == 0 || strcasecmp(what, "ConflictingAccess") == 0)
        return RULE_BLOCK;
    return strcasecmp(what, "LockOrder") == 0 ? RULE_BLOCK_DEADLOCK : RULE_NOTHING;
}

static bool is_frame_line(const char *text)
{
    return strncmp(text, "fun:", 4) == 0 || strncmp(text, "obj:", 4) == 0 ||
           strncmp(text, "src:", 4) == 0 || strcmp(text, "...") == 0;
}

/* Blocks of other tools have lines of their own (syscall parameters): not ours to judge. */
static int read_block(struct reader *r, struct error *err)
{
    unsigned start = r->line;
    const char *lines[256];
    size_t n = 0;
    struct suppress_rule *rule;

    if (!next_line(r) || strcmp(r->text, "}") == 0)
        return suppress_read_fail(r, err, "a block needs a name");
    rule = add_rule(r, RULE_NOTHING, r->text);
    rule->line = start;
    if (!next_line(r) || !strchr(r->text, ':'))
        return suppress_read_fail(r, err, "a block needs a line 'tool:kind'");
    rule->kind = block_kind(r->text);
    while (next_line(r)) {
        if (strcmp(r->text, "}") == 0) {
            rule->lines = arena_alloc(&r->s->memory, (n + 1) * sizeof(*lines));
            memcpy(rule->lines, lines, n * sizeof(*lines));
            rule->nlines = n;
            return 0;
        }
        if (rule->kind != RULE_NOTHING && !is_frame_line(r->text))
            return suppress_read_fail(r, err, "a frame is fun:, obj:, src: or ...");
        if (n == sizeof(lines) / sizeof(*lines))
            return suppress_read_fail(r, err, "the block is too long");
        lines[n++] = r->text;
    }
    r->line = start;
    return suppress_read_fail(r, err, "the block has no end");
}

int suppressions_parse(struct suppressions *s, const char *name, const char *text,
                       struct error *err)
{
    struct reader r = { .s = s, .next = text };

    r.name = arena_strndup(&s->memory, name, strlen(name));
    while (next_line(&r))
        if (strcmp(r.text, "{") == 0 ? read_block(&r, err) : read_line(&r, err))
            return -1;
    return 0;
}

int suppressions_read(struct suppressions *s, const char *path, struct error *err)
{
    FILE *in = fopen(path, "re");
    struct buf text = { 0 };
    char piece[4096];
    size_t n;
    int r;

    if (!in)
        return error_set(err, "cannot open '%s': %s", path, strerror(errno));
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        buf_add(&text, piece, n);
    buf_addch(&text, 0);
    r = ferror(in) ? error_set(err, "cannot read '%s': %s", path, strerror(errno))
                   : suppressions_parse(s, path, text.data, err);
    fclose(in);
    buf_release(&text);
    return r;
}
