/* line_table.c - line tables: header, names, and the program that makes the rows */
#include "symbol/line_table.h"
#include "base/alloc.h"
#include "base/sorted.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARK_ROWS = 64, /* rows from one mark to the next */
    FORMATS_MAX = 16
};

/* What is read next; `bad` once anything was not there. */
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

/* The state of the program behind a row, and so the row itself. */
struct mark {
    uint64_t address;
    uint32_t next; /* of the program: what comes then */
    uint32_t file, line, column;
};

struct line_file {
    const char *name;
    uint32_t folder;
};

struct lines {
    const uint8_t *program, *end;
    uint16_t version;
    uint8_t offset_bytes;
    uint8_t instruction_bytes; /* the least */
    int8_t line_base;
    uint8_t line_range, opcode_base;
    const uint8_t *operands; /* of standard opcodes: how many, from 1 on */
    const char **folders;
    size_t nfolders, folders_cap;
    struct line_file *files;
    size_t nfiles, files_cap;
    struct mark *marks; /* by address */
    size_t nmarks, marks_cap;
};

/* ---- reading ---- */

static uint64_t get(struct cursor *c, size_t bytes)
{
    uint64_t n = 0;

    if (c->bad || (size_t)(c->end - c->at) < bytes || bytes > sizeof(n)) {
        c->bad = true;
        return 0;
    }
    memcpy(&n, c->at, bytes); /* files of this machine */
    c->at += bytes;
    return n;
}

static void skip(struct cursor *c, uint64_t bytes)
{
    if (c->bad || (uint64_t)(c->end - c->at) < bytes)
        c->bad = true;
    else
        c->at += bytes;
}

static uint64_t get_uleb(struct cursor *c)
{
    uint64_t n = 0;
    uint8_t byte;

    for (unsigned shift = 0;; shift += 7) {
        byte = (uint8_t)get(c, 1);
        if (shift < 64)
            n |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
}

static int64_t get_sleb(struct cursor *c)
{
    const uint8_t *start = c->at;
    uint64_t n = get_uleb(c);
    size_t bits = (size_t)(c->at - start) * 7;

    if (bits && bits < 64 && (n >> (bits - 1) & 1))
        n |= ~UINT64_C(0) << bits;
    return (int64_t)n;
}

static const char *get_text(struct cursor *c)
{
    const char *s = (const char *)c->at;
    const uint8_t *end = c->bad ? NULL : memchr(c->at, 0, (size_t)(c->end - c->at));

    if (!end) {
        c->bad = true;
        return "";
    }
    c->at = end + 1;
    return s;
}

static const char *text_at(struct cursor *c, const struct line_section *s, uint64_t offset)
{
    if (offset >= s->bytes || !memchr(s->data + offset, 0, s->bytes - offset)) {
        c->bad = true;
        return "";
    }
    return (const char *)s->data + offset;
}

/* ---- sections ---- */

static void take_section(struct line_sections *s, Elf_Scn *scn, const char *name)
{
    struct line_section *to = !strcmp(name, "line")       ? &s->line
                              : !strcmp(name, "line_str") ? &s->line_str
                              : !strcmp(name, "str")      ? &s->str
                                                          : NULL;
    const Elf_Data *d = to ? elf_getdata(scn, NULL) : NULL;

    if (d && d->d_buf)
        *to = (struct line_section){ d->d_buf, d->d_size };
}

void line_sections_find(struct line_sections *s, Elf *elf)
{
    static const char *const prefixes[] = { ".debug_", ".zdebug_" };
    Elf_Scn *scn = NULL;
    size_t names;
    GElf_Shdr h;

    *s = (struct line_sections){ 0 };
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return;
    while ((scn = elf_nextscn(elf, scn))) {
        const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;

        for (int i = 0; name && i < 2; i++)
            if (h.sh_type != SHT_NOBITS && !strncmp(name, prefixes[i], strlen(prefixes[i])))
                take_section(s, scn, name + strlen(prefixes[i]));
    }
}

/* ---- names ---- */

static void add_folder(struct lines *l, const char *name)
{
    GROW(l->folders, l->folders_cap, l->nfolders + 1);
    l->folders[l->nfolders++] = name;
}

static void lines_add_file(struct lines *l, const char *name, uint64_t folder)
{
    GROW(l->files, l->files_cap, l->nfiles + 1);
    l->files[l->nfiles++] = (struct line_file){ name, (uint32_t)folder };
}

/* Up to version 4: numbers begin with 1, 0 is the folder of the compilation. */
static void read_old_names(struct lines *l, struct cursor *c)
{
    const char *name;

    add_folder(l, "");
    while (*(name = get_text(c)))
        add_folder(l, name);
    lines_add_file(l, "", 0);
    while (*(name = get_text(c))) {
        lines_add_file(l, name, get_uleb(c));
        get_uleb(c); /* time */
        get_uleb(c); /* size */
    }
}

/* An entry of version 5 consists of what its table's format says. */
struct format {
    uint64_t content, form;
};

static uint64_t get_number(struct cursor *c, uint64_t form)
{
    switch (form) {
    case DW_FORM_udata:
        return get_uleb(c);
    case DW_FORM_data1:
        return get(c, 1);
    case DW_FORM_data2:
        return get(c, 2);
    case DW_FORM_data4:
        return get(c, 4);
    case DW_FORM_data8:
        return get(c, 8);
    default:
        c->bad = true;
        return 0;
    }
}

static const char *get_name(const struct lines *l, struct cursor *c, uint64_t form,
                            const struct line_sections *s)
{
    switch (form) {
    case DW_FORM_string:
        return get_text(c);
    case DW_FORM_line_strp:
        return text_at(c, &s->line_str, get(c, l->offset_bytes));
    case DW_FORM_strp:
        return text_at(c, &s->str, get(c, l->offset_bytes));
    default:
        c->bad = true;
        return "";
    }
}

static void skip_value(const struct lines *l, struct cursor *c, uint64_t form,
                       const struct line_sections *s)
{
    if (form == DW_FORM_data16)
        skip(c, 16);
    else if (form == DW_FORM_block)
        skip(c, get_uleb(c));
    else if (form == DW_FORM_string || form == DW_FORM_line_strp || form == DW_FORM_strp)
        get_name(l, c, form, s);
    else
        get_number(c, form);
}

static void read_table(struct lines *l, struct cursor *c, const struct line_sections *s, bool files)
{
    struct format formats[FORMATS_MAX];
    size_t nformats = (size_t)get(c, 1);
    uint64_t count;

    for (size_t i = 0; i < nformats && nformats <= FORMATS_MAX; i++) {
        formats[i].content = get_uleb(c);
        formats[i].form = get_uleb(c);
    }
    count = get_uleb(c);
    if (nformats > FORMATS_MAX || (!nformats && count))
        c->bad = true;
    for (uint64_t n = 0; n < count && !c->bad; n++) {
        const char *name = "";
        uint64_t folder = 0;

        for (size_t i = 0; i < nformats; i++) {
            if (formats[i].content == DW_LNCT_path)
                name = get_name(l, c, formats[i].form, s);
            else if (formats[i].content == DW_LNCT_directory_index)
                folder = get_number(c, formats[i].form);
            else
                skip_value(l, c, formats[i].form, s);
        }
        if (files)
            lines_add_file(l, name, folder);
        else
            add_folder(l, name);
    }
}

bool lines_file(const struct lines *l, uint32_t number, const char **folder, const char **name)
{
    const struct line_file *f = number < l->nfiles ? &l->files[number] : NULL;

    if (!f || !*f->name)
        return false;
    *name = f->name;
    *folder = f->folder < l->nfolders ? l->folders[f->folder] : "";
    return true;
}

/* ---- the program ---- */

enum step { STEP_NONE, STEP_ROW, STEP_END }; /* a row was made; the sequence ends */

static void start_sequence(struct mark *m)
{
    m->address = 0;
    m->file = m->line = 1;
    m->column = 0;
}

static enum step extended(struct mark *m, struct cursor *c)
{
    uint64_t bytes = get_uleb(c);
    struct cursor inside = *c;
    enum step step = STEP_NONE;

    skip(c, bytes);
    if (c->bad || !bytes)
        return STEP_NONE;
    inside.end = c->at;
    switch (get(&inside, 1)) {
    case DW_LNE_end_sequence:
        step = STEP_END;
        break;
    case DW_LNE_set_address:
        m->address = get(&inside, bytes - 1);
        break;
    }
    c->bad = inside.bad;
    return step;
}

static void standard(const struct lines *l, struct mark *m, struct cursor *c, uint8_t opcode)
{
    switch (opcode) {
    case DW_LNS_advance_pc:
        m->address += get_uleb(c) * l->instruction_bytes;
        break;
    case DW_LNS_advance_line:
        m->line += (uint32_t)get_sleb(c);
        break;
    case DW_LNS_set_file:
        m->file = (uint32_t)get_uleb(c);
        break;
    case DW_LNS_set_column:
        m->column = (uint32_t)get_uleb(c);
        break;
    case DW_LNS_const_add_pc:
        m->address += (uint64_t)((255 - l->opcode_base) / l->line_range) * l->instruction_bytes;
        break;
    case DW_LNS_fixed_advance_pc:
        m->address += get(c, 2);
        break;
    default:
        for (unsigned i = 0; i < l->operands[opcode - 1]; i++)
            get_uleb(c);
    }
}

/* One opcode; `m` has the state before and after it. */
static enum step step(const struct lines *l, struct mark *m, struct cursor *c)
{
    uint8_t opcode = (uint8_t)get(c, 1);

    if (c->bad)
        return STEP_NONE;
    if (opcode >= l->opcode_base) {
        unsigned n = (unsigned)(opcode - l->opcode_base);

        m->address += (uint64_t)(n / l->line_range) * l->instruction_bytes;
        m->line += (uint32_t)(l->line_base + (int)(n % l->line_range));
        return STEP_ROW;
    }
    if (opcode == 0)
        return extended(m, c);
    if (opcode == DW_LNS_copy)
        return STEP_ROW;
    standard(l, m, c, opcode);
    return STEP_NONE;
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->next < y->next ? -1 : x->next > y->next;
}

/* A mark at the first row of each sequence, and at each MARK_ROWS rows from there. */
static void lines_run(struct lines *l)
{
    struct cursor c = { l->program, l->end, false };
    struct mark m = { 0 };
    unsigned rows = 0;

    start_sequence(&m);
    while (c.at < c.end && !c.bad) {
        enum step made = step(l, &m, &c);

        if (made == STEP_ROW && rows++ % MARK_ROWS == 0) {
            GROW(l->marks, l->marks_cap, l->nmarks + 1);
            m.next = (uint32_t)(c.at - l->program);
            l->marks[l->nmarks++] = m;
        } else if (made == STEP_END) {
            start_sequence(&m);
            rows = 0;
        }
    }
    if (l->nmarks)
        qsort(l->marks, l->nmarks, sizeof(*l->marks), compare_marks);
}

bool lines_find(const struct lines *l, uint64_t address, struct line_place *out)
{
    size_t n = sorted_up_to(l->marks, l->nmarks, sizeof(*l->marks), address);
    struct cursor c = { .end = l->end };
    struct mark m;
    enum step made;

    if (!n)
        return false;
    m = l->marks[n - 1];
    c.at = l->program + m.next;
    do {
        *out = (struct line_place){ m.file, m.line, m.column };
        do
            made = step(l, &m, &c);
        while (made == STEP_NONE && !c.bad && c.at < c.end);
    } while (made == STEP_ROW && m.address <= address);
    return made != STEP_NONE && m.address > address;
}

/* ---- header ---- */

static bool read_header(struct lines *l, struct cursor *c, const struct line_sections *s)
{
    uint64_t bytes = get(c, 4);
    unsigned operations;

    l->offset_bytes = 4;
    if (bytes == 0xffffffff) {
        bytes = get(c, 8);
        l->offset_bytes = 8;
    }
    if (c->bad || bytes > (uint64_t)(c->end - c->at) || bytes > UINT32_MAX)
        return false;
    l->end = c->end = c->at + bytes;
    l->version = (uint16_t)get(c, 2);
    if (l->version < 2 || l->version > 5)
        return false;
    if (l->version >= 5)
        get(c, 2); /* sizes of addresses and segments */
    bytes = get(c, l->offset_bytes);
    if (c->bad || bytes > (uint64_t)(c->end - c->at))
        return false;
    l->program = c->at + bytes;
    l->instruction_bytes = (uint8_t)get(c, 1);
    operations = l->version >= 4 ? (unsigned)get(c, 1) : 1;
    get(c, 1); /* whether rows begin statements */
    l->line_base = (int8_t)get(c, 1);
    l->line_range = (uint8_t)get(c, 1);
    l->opcode_base = (uint8_t)get(c, 1);
    l->operands = c->at;
    if (c->bad || operations != 1 || !l->line_range || !l->opcode_base)
        return false;
    skip(c, l->opcode_base - (uint64_t)1);
    if (l->version >= 5) {
        read_table(l, c, s, false);
        read_table(l, c, s, true);
    } else {
        read_old_names(l, c);
    }
    return !c->bad;
}

struct lines *lines_read(const struct line_sections *s, uint64_t offset)
{
    struct lines *l = xcalloc(1, sizeof(*l));
    struct cursor c = { 0 };

    if (offset < s->line.bytes)
        c = (struct cursor){ s->line.data + offset, s->line.data + s->line.bytes, false };
    if (!c.at || !read_header(l, &c, s)) {
        lines_free(l);
        return NULL;
    }
    lines_run(l);
    return l;
}

void lines_free(struct lines *l)
{
    if (!l)
        return;
    free(l->folders);
    free(l->files);
    free(l->marks);
    free(l);
}
