/* globals.c - `heddle record --globals FILE`: is the file what it should be?
 *
 * A rule that says nothing would be found out only by a false alarm. So a misspelt variable is an
 * error before anything runs. "?" before the name of a variable: it may come with dlopen().
 */
#include "cmd/globals.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "abi/rt_globals.h"
#include "cmd/common.h"
#include "cmd/launch.h"
#include "symbol/elf_file.h"
#include "symbol/linked.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct rule {
    char *variable; /* owned */
    unsigned line;
    bool found;
};

struct rules {
    struct rule *at;
    size_t count, cap;
};

static char *trimmed(char *s)
{
    s += strspn(s, " \t");
    for (size_t n = strlen(s); n > 0 && strchr(" \t\r\n", s[n - 1]); n--)
        s[n - 1] = 0;
    return s;
}

/* ---- the file ---- */

static int add_rule(struct rules *r, char *text, const char *file, unsigned line)
{
    char *colon, *name;

    text = trimmed(text);
    if (!*text || *text == '#')
        return 0;
    colon = strrchr(text, ':');
    name = colon ? trimmed(colon + 1) : NULL;
    if (!name || !*name || colon == text)
        return bad_input("'%s', line %u: not of the form FUNCTION-GLOB: VARIABLE", file, line);
    if (r->count == GLOBALS_RULES)
        return bad_input("'%s', line %u: more than %d rules", file, line, GLOBALS_RULES);
    GROW(r->at, r->cap, r->count + 1);
    r->at[r->count++] = (struct rule){ xstrndup(name, strlen(name)), line, *name == '?' };
    return 0;
}

static int read_rules(struct rules *r, const char *file)
{
    FILE *in = fopen(file, "re");
    char *line = NULL;
    size_t cap = 0, bytes = 0;
    unsigned number = 0;
    ssize_t n;
    int code = 0;

    if (!in)
        return bad_input("cannot read '%s': %s", file, strerror(errno));
    while (code == 0 && (n = getline(&line, &cap, in)) > 0) {
        bytes += (size_t)n;
        code = bytes < GLOBALS_BYTES
                   ? add_rule(r, line, file, ++number)
                   : bad_input("'%s': longer than %d bytes", file, GLOBALS_BYTES - 1);
    }
    free(line);
    fclose(in);
    return code;
}

/* ---- the variables ---- */

static void globals_look_up(struct rules *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        r->at[i].found |= strcmp(r->at[i].variable, name) == 0;
}

static bool is_variable(const GElf_Sym *s)
{
    int type = GELF_ST_TYPE(s->st_info);

    return s->st_shndx != SHN_UNDEF &&
           (type == STT_OBJECT || type == STT_TLS || type == STT_COMMON || type == STT_NOTYPE);
}

static void look_up_table(struct rules *r, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t n = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;
    GElf_Sym s;

    for (size_t i = 0; i < n; i++) {
        const char *name;

        if (!gelf_getsym(data, (int)i, &s) || !is_variable(&s))
            continue;
        name = elf_strptr(elf, head->sh_link, s.st_name);
        if (name && *name)
            globals_look_up(r, name);
    }
}

static void look_up_file(struct rules *r, const char *path)
{
    struct elf_file f;
    Elf_Scn *section = NULL;
    GElf_Shdr head;

    elf_file_open(&f, path, NULL, 0, false);
    while (f.elf && (section = elf_nextscn(f.elf, section)))
        if (gelf_getshdr(section, &head) &&
            (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM))
            look_up_table(r, f.elf, section, &head);
    elf_file_close(&f);
}

static int check_found(const struct rules *r, const char *file, const char *program)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->at[i].found)
            return bad_input("'%s', line %u: no variable '%s' in '%s' and its libraries", file,
                             r->at[i].line, r->at[i].variable, program);
    return 0;
}

static int check_variables(struct rules *r, const char *file, const char *program)
{
    char *path = program_find(program);
    struct linked l = { 0 };
    struct error err;
    int code = 0;

    if (path && linked_open(&l, path, true, &err) == 0 && linked_sites(&l) > 0) {
        for (size_t i = 0; i < l.nseen; i++)
            look_up_file(r, l.seen[i]);
        code = check_found(r, file, program);
    }
    linked_release(&l);
    free(path);
    return code;
}

int globals_check(const char *file, const char *program)
{
    struct rules r = { 0 };
    int code = read_rules(&r, file);

    if (code == 0)
        code = check_variables(&r, file, program);
    for (size_t i = 0; i < r.count; i++)
        free(r.at[i].variable);
    free(r.at);
    return code;
}
