/* machine.c - an ELF file's sections, symbols, relocations, functions and variables (machine.h) */
#include "symbol/machine_inside.h"
#include "base/alloc.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* ---- sections ---- */

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static enum section_kind kind_of(const GElf_Shdr *h, const char *name)
{
    if (!(h->sh_flags & SHF_ALLOC) || h->sh_flags & SHF_TLS)
        return SECTION_OTHER;
    if (strcmp(name, "heddle_text") == 0)
        return SECTION_RUNTIME;
    if (h->sh_flags & SHF_EXECINSTR)
        return starts_with(name, ".plt") ? SECTION_STUBS : SECTION_CODE;
    if (!(h->sh_flags & SHF_WRITE) || starts_with(name, ".got") ||
        starts_with(name, ".data.rel.ro") || strcmp(name, ".dynamic") == 0)
        return SECTION_CONSTANT;
    if (starts_with(name, ".init_array") || starts_with(name, ".fini_array") ||
        starts_with(name, ".ctors") || starts_with(name, ".dtors"))
        return SECTION_START;
    if (strcmp(name, "heddle_functions") == 0)
        return SECTION_TRACED;
    return starts_with(name, "heddle_") ? SECTION_OTHER : SECTION_VARIABLE;
}

static void read_sections(struct machine *m)
{
    struct machine_file *f = m->file;
    Elf *elf = f->elf.elf;
    Elf_Scn *scn = NULL;
    size_t names, bytes;
    const uint8_t *raw = (const uint8_t *)elf_rawfile(elf, &bytes);

    if (elf_getshdrstrndx(elf, &names) < 0)
        return;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(scn, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
        enum section_kind kind = name ? kind_of(&h, name) : SECTION_OTHER;
        bool there = h.sh_type != SHT_NOBITS;

        if (kind == SECTION_OTHER || !h.sh_size ||
            (there && (h.sh_offset > bytes || h.sh_size > bytes - h.sh_offset)))
            continue;
        GROW(f->sections, f->sections_cap, f->nsections + 1);
        f->sections[f->nsections++] =
            (struct machine_section){ h.sh_addr, h.sh_addr + h.sh_size,
                                      there ? raw + h.sh_offset : NULL, kind };
    }
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

const struct machine_section *machine_section_at(const struct machine *m, uint64_t address)
{
    const struct machine_file *f = m->file;
    size_t low = 0, high = f->nsections;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (f->sections[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->nsections && f->sections[low].low <= address ? &f->sections[low] : NULL;
}

/* ---- symbols ---- */

static void add_start(struct machine_file *f, uint64_t address)
{
    GROW(f->starts, f->starts_cap, f->nstarts + 1);
    f->starts[f->nstarts++] = address;
}

static void add_variable(struct machine_file *f, uint64_t address)
{
    GROW(f->variables, f->variables_cap, f->nvariables + 1);
    f->variables[f->nvariables++] = address;
}

static bool is_code(const struct machine_section *s)
{
    return s && (s->kind == SECTION_CODE || s->kind == SECTION_RUNTIME);
}

static void read_symbol(struct machine *m, const GElf_Sym *s, const char *name, bool dynamic)
{
    int type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
    const struct machine_section *section = machine_section_at(m, s->st_value);
    bool imported = s->st_shndx == SHN_UNDEF;

    if (type == STT_SECTION || type == STT_FILE || type == STT_TLS || !*name)
        return;
    if (!imported && is_code(section))
        add_start(m->file, s->st_value);
    if (!imported && section && !is_code(section) && type == STT_OBJECT)
        add_variable(m->file, s->st_value);
    m->traced |= starts_with(name, "heddle_traced.") || starts_with(name, "__heddle_module");
    if (imported && !dynamic)
        return;
    GROW(m->symbols, m->symbols_cap, m->nsymbols + 1);
    m->symbols[m->nsymbols++] = (struct machine_symbol){
        .name = name,
        .address = s->st_value,
        .bytes = s->st_size,
        .code = is_code(section) || type == STT_FUNC || type == STT_GNU_IFUNC,
        .exported = dynamic && !imported && bind != STB_LOCAL,
        .imported = imported,
        .chooses = type == STT_GNU_IFUNC && !imported,
    };
}

static void read_symbols(struct machine *m)
{
    Elf *elf = m->file->elf.elf;
    Elf_Scn *scn = NULL;

    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr h;
        GElf_Sym s;
        Elf_Data *data;

        if (!gelf_getshdr(scn, &h) || (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM))
            continue;
        m->named |= h.sh_type == SHT_SYMTAB;
        data = elf_getdata(scn, NULL);
        for (int i = 0; data && gelf_getsym(data, i, &s); i++) {
            const char *name = elf_strptr(elf, h.sh_link, s.st_name);

            if (name)
                read_symbol(m, &s, name, h.sh_type == SHT_DYNSYM);
        }
    }
}

/* ---- relocations ---- */

static void add_reloc(struct machine_file *f, struct machine_reloc r)
{
    GROW(f->relocs, f->relocs_cap, f->nrelocs + 1);
    f->relocs[f->nrelocs++] = r;
}

static void read_rela(struct machine_file *f, const GElf_Rela *r, Elf_Data *symbols, size_t strings)
{
    struct machine_reloc out = { .at = r->r_offset, .value = (uint64_t)r->r_addend };
    GElf_Sym s;

    switch (GELF_R_TYPE(r->r_info)) {
    case R_X86_64_RELATIVE:
        break;
    case R_X86_64_IRELATIVE:
        out.chosen = true;
        break;
    case R_X86_64_TPOFF64:
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TLSDESC:
        out.local = true;
        break;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        out.slot = true; /* fall through */
    case R_X86_64_64:
        if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &s))
            return;
        out.symbol = elf_strptr(f->elf.elf, strings, s.st_name);
        out.weak = GELF_ST_BIND(s.st_info) == STB_WEAK && s.st_shndx == SHN_UNDEF;
        if (!out.symbol || !*out.symbol) {
            out.symbol = NULL;
            out.value += s.st_value;
        }
        break;
    default:
        return;
    }
    add_reloc(f, out);
}

static void read_rela_section(struct machine_file *f, Elf_Scn *scn, const GElf_Shdr *h)
{
    Elf_Data *data = elf_getdata(scn, NULL), *symbols = NULL;
    Elf_Scn *table = elf_getscn(f->elf.elf, h->sh_link);
    GElf_Shdr head = { 0 };
    GElf_Rela r;

    if (table && gelf_getshdr(table, &head) &&
        (head.sh_type == SHT_DYNSYM || head.sh_type == SHT_SYMTAB))
        symbols = elf_getdata(table, NULL);
    for (int i = 0; data && gelf_getrela(data, i, &r); i++)
        read_rela(f, &r, symbols, head.sh_link);
}

static uint64_t word_at(const struct machine *m, uint64_t address)
{
    const struct machine_section *s = machine_section_at(m, address);
    uint64_t word = 0;

    if (s && s->bytes && s->high - address >= sizeof(word))
        memcpy(&word, s->bytes + (address - s->low), sizeof(word));
    return word;
}

/* Addresses of words, and bitmaps of the 63 words that follow; what the words hold is the value. */
static void read_relr(struct machine *m, Elf_Scn *scn)
{
    Elf_Data *data = elf_rawdata(scn, NULL);
    const uint64_t *words = data ? data->d_buf : NULL;
    uint64_t next = 0;

    for (size_t i = 0; words && i < data->d_size / sizeof(*words); i++) {
        if (!(words[i] & 1)) {
            add_reloc(m->file,
                      (struct machine_reloc){ .at = words[i], .value = word_at(m, words[i]) });
            next = words[i] + 8;
            continue;
        }
        for (unsigned bit = 0; bit < 63; bit++)
            if (words[i] >> (bit + 1) & 1)
                add_reloc(m->file, (struct machine_reloc){ .at = next + 8 * bit,
                                                           .value = word_at(m, next + 8 * bit) });
        next += 63 * 8;
    }
}

static void read_relocs(struct machine *m)
{
    enum { RELR = 19 };
    Elf_Scn *scn = NULL;

    while ((scn = elf_nextscn(m->file->elf.elf, scn))) {
        GElf_Shdr h;

        if (!gelf_getshdr(scn, &h) || !(h.sh_flags & SHF_ALLOC))
            continue;
        if (h.sh_type == SHT_RELA)
            read_rela_section(m->file, scn, &h);
        else if (h.sh_type == RELR)
            read_relr(m, scn);
    }
    if (m->file->nrelocs)
        qsort(m->file->relocs, m->file->nrelocs, sizeof(*m->file->relocs), compare_words);
}

size_t machine_reloc_from(const struct machine *m, uint64_t address)
{
    size_t low = 0, high = m->file->nrelocs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->file->relocs[middle].at < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- functions and variables ---- */

/* The table that unwinding searches says where functions begin, with symbols or without. */
static void read_unwind_table(struct machine *m, uint64_t address, const uint8_t *at, size_t bytes)
{
    enum { HEAD = 12, DATAREL_SDATA4 = 0x3b, UDATA4 = 3 };
    uint32_t count;

    if (!at || bytes < HEAD || at[0] != 1 || at[2] != UDATA4 || at[3] != DATAREL_SDATA4)
        return;
    memcpy(&count, at + 8, 4);
    for (uint32_t i = 0; i < count && HEAD + 8 * (size_t)i + 8 <= bytes; i++) {
        int32_t start;

        memcpy(&start, at + HEAD + 8 * (size_t)i, 4);
        if (is_code(machine_section_at(m, address + (uint64_t)(int64_t)start)))
            add_start(m->file, address + (uint64_t)(int64_t)start);
    }
}

static void find_unwind_table(struct machine *m)
{
    size_t n = 0, bytes;
    const uint8_t *raw = (const uint8_t *)elf_rawfile(m->file->elf.elf, &bytes);
    GElf_Phdr p;

    elf_getphdrnum(m->file->elf.elf, &n);
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(m->file->elf.elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME &&
            p.p_offset <= bytes && p.p_filesz <= bytes - p.p_offset)
            read_unwind_table(m, p.p_vaddr, raw + p.p_offset, p.p_filesz);
}

static size_t unique(uint64_t *words, size_t n)
{
    size_t kept = 0;

    if (n)
        qsort(words, n, sizeof(*words), compare_words);
    for (size_t i = 0; i < n; i++)
        if (!kept || words[kept - 1] != words[i])
            words[kept++] = words[i];
    return kept;
}

static void make_functions(struct machine *m)
{
    struct machine_file *f = m->file;

    for (size_t i = 0; i < f->nsections; i++)
        if (is_code(&f->sections[i]))
            add_start(f, f->sections[i].low);
    f->nstarts = unique(f->starts, f->nstarts);
    for (size_t i = 0; i < f->nstarts; i++) {
        const struct machine_section *s = machine_section_at(m, f->starts[i]);
        uint64_t end = i + 1 < f->nstarts ? f->starts[i + 1] : UINT64_MAX;

        GROW(m->functions, m->functions_cap, m->nfunctions + 1);
        m->functions[m->nfunctions++] = (struct machine_function){
            .start = f->starts[i],
            .end = end < s->high ? end : s->high,
            .does = s->kind == SECTION_RUNTIME ? MACHINE_RUNTIME : 0,
        };
    }
}

/* Whoever calls by such a name calls what was chosen: some function whose address is taken. */
static void mark_choosers(struct machine *m)
{
    for (size_t i = 0; i < m->nsymbols; i++) {
        struct machine_function *f =
            m->symbols[i].chooses ? machine_function_at(m, m->symbols[i].address) : NULL;

        if (f)
            f->does |= MACHINE_POINTER;
    }
}

static void add_pieces(struct machine *m, const struct machine_section *s, size_t *variable)
{
    const struct machine_file *f = m->file;
    uint64_t low = s->low;

    while (*variable < f->nvariables && f->variables[*variable] <= low)
        ++*variable;
    while (low < s->high) {
        uint64_t high = s->high;

        if (*variable < f->nvariables && f->variables[*variable] < high)
            high = f->variables[(*variable)++];
        GROW(m->pieces, m->pieces_cap, m->npieces + 1);
        m->pieces[m->npieces++] = (struct machine_piece){ low, high };
        low = high;
    }
}

static void make_pieces(struct machine *m)
{
    struct machine_file *f = m->file;
    size_t variable = 0;

    f->nvariables = unique(f->variables, f->nvariables);
    for (size_t i = 0; i < f->nsections; i++)
        if (f->sections[i].kind == SECTION_VARIABLE)
            add_pieces(m, &f->sections[i], &variable);
}

/* ---- questions ---- */

struct machine_function *machine_function_at(const struct machine *m, uint64_t address)
{
    size_t low = 0, high = m->nfunctions;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->functions[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->nfunctions && m->functions[low].start <= address ? &m->functions[low] : NULL;
}

size_t machine_piece_at(const struct machine *m, uint64_t address)
{
    size_t low = 0, high = m->npieces;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (m->pieces[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->npieces && m->pieces[low].low <= address ? low : m->npieces;
}

/* ---- the whole ---- */

static bool is_ours(Elf *elf, bool *fixed)
{
    GElf_Ehdr h;

    if (!gelf_getehdr(elf, &h) || h.e_machine != EM_X86_64 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        (h.e_type != ET_DYN && h.e_type != ET_EXEC))
        return false;
    *fixed = h.e_type == ET_EXEC;
    return true;
}

bool machine_read(struct machine *m, const char *path)
{
    *m = (struct machine){ .path = xstrndup(path, strlen(path)) };
    m->file = xcalloc(1, sizeof(*m->file));
    elf_file_open(&m->file->elf, path, NULL, 0, false);
    if (!m->file->elf.elf || !is_ours(m->file->elf.elf, &m->file->fixed)) {
        machine_release(m);
        return false;
    }
    read_sections(m);
    if (!m->file->nsections) {
        machine_release(m);
        return false;
    }
    qsort(m->file->sections, m->file->nsections, sizeof(*m->file->sections), compare_words);
    read_symbols(m);
    read_relocs(m);
    find_unwind_table(m);
    make_functions(m);
    mark_choosers(m);
    make_pieces(m);
    machine_read_code(m);
    return true;
}

void machine_release(struct machine *m)
{
    if (m->file) {
        elf_file_close(&m->file->elf);
        free(m->file->sections);
        free(m->file->relocs);
        free(m->file->starts);
        free(m->file->variables);
        free(m->file);
    }
    free(m->path);
    free(m->functions);
    free(m->calls);
    free(m->refs);
    free(m->taken);
    free(m->symbols);
    free(m->pieces);
    *m = (struct machine){ 0 };
}
