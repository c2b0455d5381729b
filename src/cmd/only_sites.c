/* only_sites.c - `heddle record --only-sites FILE`
 *
 * Production builds and builds for recording have different site tables, so a state of caper is
 * taken over by file, line and column.
 */
#include "cmd/only_sites.h"
#include "base/alloc.h"
#include "base/plural.h"
#include "base/tempfile.h"
#include "cmd/common.h"
#include "cmd/launch.h"
#include "cmd/site_name.h"
#include "static/caper_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const struct linked *program;
    struct site_list found;
    size_t absent;
    char *first; /* owned: the first name that means nothing */
};

static void only_sites_look_up(struct search *s, const char *name)
{
    struct error err;

    if (site_name_parse(s->program, name, &s->found, &err) == 0)
        return;
    if (!s->absent++)
        s->first = xstrndup(name, strlen(name));
}

static void look_up_site(struct search *s, const struct sites_header *h, uint32_t index)
{
    const struct sites_site *site = sites_site(h, index);
    struct buf name = { 0 };

    sites_file(h, site->file, &name);
    if (name.len) {
        buf_addf(&name, ":%u:%u", (unsigned)site->line, (unsigned)site->column);
        only_sites_look_up(s, name.data);
    }
    buf_release(&name);
}

static int from_state(struct search *s, const char *file)
{
    struct caper_state state = { 0 };
    struct linked l = { 0 };
    struct error err;
    size_t unused;
    int code = 0;

    if (caper_state_read(&state, file, &err) < 0)
        return bad_input("%s", err.text);
    if (!state.program || linked_open(&l, state.program, true, &err) < 0)
        code = bad_input("'%s': the program it is about is not there", file);
    for (size_t i = 0; code == 0 && i < state.count; i++) {
        const struct sites_header *h = linked_find(&l, state.parts[i].id, &unused);

        for (uint32_t k = 0; h && k < state.parts[i].sites && k < h->nsites; k++)
            if (state.parts[i].marks[k])
                look_up_site(s, h, k);
    }
    linked_release(&l);
    caper_state_release(&state);
    return code;
}

static int from_list(struct search *s, const char *file)
{
    FILE *in = fopen(file, "re");
    char *line = NULL;
    size_t cap = 0;

    if (!in)
        return bad_input("cannot read '%s': %s", file, strerror(errno));
    while (getline(&line, &cap, in) > 0) {
        line[strcspn(line, "#\n")] = 0;
        for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); n--)
            line[n - 1] = 0;
        if (*line)
            only_sites_look_up(s, line);
    }
    free(line);
    fclose(in);
    return 0;
}

static bool is_state(const char *file)
{
    char line[32] = "";
    FILE *in = fopen(file, "re");
    bool state = in && fgets(line, sizeof(line), in) && strncmp(line, "heddle-caper ", 13) == 0;

    if (in)
        fclose(in);
    return state;
}

static int save(const struct search *s, const char *path)
{
    FILE *out = private_fopen(path);
    bool good =
        out && fwrite(s->found.at, sizeof(*s->found.at), s->found.count, out) == s->found.count;

    good = out && fclose(out) == 0 && good;
    return good ? 0 : own_failure("cannot write '%s': %s", path, strerror(errno));
}

int only_sites_write(const char *file, const char *program, const char *out)
{
    char *path = program_find(program);
    struct search s = { 0 };
    struct linked l = { 0 };
    struct error err;
    int code = 0;

    s.program = &l;
    if (!path || linked_open(&l, path, true, &err) < 0)
        code = path ? bad_input("%s", err.text) : bad_input("cannot find '%s'", program);
    if (code == 0)
        code = is_state(file) ? from_state(&s, file) : from_list(&s, file);
    if (code == 0 && s.absent)
        warn("note", "%zu site%s of '%s' %s not in '%s', the first is '%s'", s.absent,
             plural(s.absent), file, s.absent == 1 ? "is" : "are", program, s.first);
    if (code == 0 && !s.found.count)
        code = bad_input("no site of '%s' is in '%s'", file, program);
    if (code == 0)
        code = save(&s, out);
    free(s.first);
    free(path);
    site_list_release(&s.found);
    linked_release(&l);
    return code;
}
