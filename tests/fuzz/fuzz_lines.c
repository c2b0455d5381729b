/* fuzz_lines.c - libFuzzer target for DWARF line tables
 *
 * The input is all three sections at once. Whatever is found is looked at:
 * the place of each of some addresses, both names of each file to their ends.
 */
#include "symbol/line_table.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static size_t sum;

static void look_at_names(const struct lines *l, uint32_t file)
{
    const char *folder, *name;

    if (lines_file(l, file, &folder, &name))
        sum += strlen(folder) + strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct line_section all = { data, len };
    const struct line_sections s = { all, all, all };
    struct lines *l = lines_read(&s, 0);
    struct line_place at;

    if (!l)
        return 0;
    for (uint64_t address = 0; address < 1 << 16; address += 997)
        if (lines_find(l, address, &at))
            look_at_names(l, at.file);
    if (lines_find(l, UINT64_MAX, &at))
        abort(); /* no code is behind the last address */
    for (uint32_t file = 0; file < 100; file++)
        look_at_names(l, file);
    lines_free(l);
    return 0;
}
