/* options.c - parse a command line against a command's table */
#include "cmd/options.h"
#include "base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names this far apart are no typing mistakes any more. */
enum { SUGGEST_MAX = 2, SUGGEST_LEN = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b; long names are never near. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t d[SUGGEST_LEN + 1][SUGGEST_LEN + 1], n = strlen(a), m = strlen(b);

    if (n > SUGGEST_LEN || m > SUGGEST_LEN)
        return SUGGEST_LEN;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                            least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

/* A name that the user began to type counts as near, too. */
void suggest(struct suggestion *s, const char *name)
{
    size_t typed = strlen(s->wanted);
    size_t distance = edit_distance(s->wanted, name);

    if (typed >= 3 && strncmp(s->wanted, name, typed) == 0)
        distance = 1;
    if (distance > SUGGEST_MAX || distance >= strlen(name) || (s->best && distance >= s->distance))
        return;
    s->best = name;
    s->distance = distance;
}

static int unknown_option(const struct command *c, const char *given, size_t len, struct error *err)
{
    char *name = xstrndup(given, len);
    struct suggestion s = { .wanted = name };

    for (const struct option_def *d = c->options; d->name; d++)
        suggest(&s, d->name);
    if (s.best)
        error_set(err, "unknown option '--%s', did you mean '--%s'?", name, s.best);
    else
        error_set(err, "unknown option '--%s'", name);
    free(name);
    return -1;
}

static const struct option_def *find_long(const struct command *c, const char *name, size_t len)
{
    for (const struct option_def *d = c->options; d->name; d++)
        if (strlen(d->name) == len && memcmp(d->name, name, len) == 0)
            return d;
    return NULL;
}

static const struct option_def *find_letter(const struct command *c, char letter)
{
    for (const struct option_def *d = c->options; d->name; d++)
        if (d->letter == letter)
            return d;
    return NULL;
}

/* "12", "64k": decimal with an optional factor of a thousand, a million, a billion. */
static bool parse_number(const char *text, uint64_t *out)
{
    uint64_t n = 0, factor = 1;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *text - '0', &n))
            return false;
    if (tolower(*text) == 'k')
        factor = 1000;
    else if (tolower(*text) == 'm')
        factor = 1000000;
    else if (tolower(*text) == 'g')
        factor = 1000000000;
    if (factor > 1)
        text++;
    *out = n * factor;
    return *text == 0 && (n == 0 || *out / factor == n);
}

static bool is_choice(const char *words, const char *value)
{
    size_t len = strlen(value);

    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");

        if (n == len && memcmp(w, value, n) == 0)
            return true;
        w += n + (w[n] == '|');
    }
    return false;
}

static int set_value(struct options *o, const struct option_def *d, const char *value,
                     struct error *err)
{
    if (d->kind == KIND_NUMBER && !parse_number(value, &o->numbers[d->id]))
        return error_set(err, "option '--%s' takes a number, not '%s'", d->name, value);
    if (d->kind == KIND_CHOICE && !is_choice(d->argument, value))
        return error_set(err, "option '--%s' takes one of %s, not '%s'", d->name, d->argument,
                         value);
    if (d->kind == KIND_LIST) {
        struct option_list *l = &o->lists[d->id];

        GROW(l->texts, l->cap, l->count + 1);
        l->texts[l->count++] = value;
    }
    o->texts[d->id] = value;
    return 0;
}

/* Give an option its value: attached, or the next argument. */
static int take_option(struct options *o, const struct option_def *d, const char *attached,
                       int argc, char **argv, int *at, struct error *err)
{
    if (d->kind == KIND_FLAG) {
        if (attached)
            return error_set(err, "option '--%s' takes no value", d->name);
        o->texts[d->id] = "";
        return 0;
    }
    if (!attached && d->argument[0] == '[') { /* its value may be absent */
        o->texts[d->id] = "";
        o->numbers[d->id] = 0;
        return 0;
    }
    if (!attached) {
        if (*at + 1 >= argc)
            return error_set(err, "option '--%s' needs a value (%s)", d->name, d->argument);
        attached = argv[++*at];
    }
    return set_value(o, d, attached, err);
}

static int parse_long(struct options *o, int argc, char **argv, int *at, struct error *err)
{
    const char *name = argv[*at] + 2;
    size_t len = strcspn(name, "=");
    const struct option_def *d = find_long(o->command, name, len);

    if (!d)
        return unknown_option(o->command, name, len, err);
    return take_option(o, d, name[len] ? name + len + 1 : NULL, argc, argv, at, err);
}

/* Letters may stand together, "-qo FILE"; the first one that takes a value takes the rest. */
static int parse_letters(struct options *o, int argc, char **argv, int *at, struct error *err)
{
    for (const char *p = argv[*at] + 1; *p; p++) {
        const struct option_def *d = find_letter(o->command, *p);
        bool has_value = d && d->kind != KIND_FLAG && p[1];

        if (!d)
            return error_set(err, "unknown option '-%c'", *p);
        if (take_option(o, d, has_value ? p + 1 : NULL, argc, argv, at, err) < 0)
            return -1;
        if (d->kind != KIND_FLAG)
            break;
    }
    return 0;
}

static void set_defaults(struct options *o)
{
    struct error ignored;

    for (const struct option_def *d = o->command->options; d->name; d++)
        if (d->initial)
            set_value(o, d, d->initial, &ignored);
}

static int check_arguments(const struct options *o, struct error *err)
{
    const struct command *c = o->command;

    if (o->narguments > c->max_arguments)
        return error_set(err, "too many arguments: '%s'", o->arguments[c->max_arguments]);
    if (o->narguments < c->min_arguments)
        return error_set(err, "'%s' needs %s", c->name, c->arguments);
    return 0;
}

int options_parse(struct options *o, const struct command *c, int argc, char **argv,
                  struct error *err)
{
    bool ended = c->grammar == OPTIONS_NONE;
    int r = 0;

    *o = (struct options){ .command = c, .before_dashes = -1 };
    o->arguments = xcalloc((size_t)argc + 1, sizeof(*o->arguments));
    set_defaults(o);
    for (int i = 0; i < argc && r == 0; i++) {
        if (ended || argv[i][0] != '-' || argv[i][1] == 0) {
            o->arguments[o->narguments++] = argv[i];
            ended |= c->grammar == OPTIONS_FIRST ||
                     (c->grammar == OPTIONS_AFTER_WORD && o->narguments > 1);
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
            o->before_dashes = o->narguments;
        } else if (argv[i][1] == '-') {
            r = parse_long(o, argc, argv, &i, err);
        } else {
            r = parse_letters(o, argc, argv, &i, err);
        }
    }
    if (r == 0 && !option_is(o, OPT_HELP))
        r = check_arguments(o, err);
    return r;
}

void options_release(struct options *o)
{
    free(o->arguments);
    for (int i = 0; i < OPTIONS; i++)
        free(o->lists[i].texts);
    *o = (struct options){ 0 };
}
