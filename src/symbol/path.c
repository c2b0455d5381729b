/* path.c - the member of a variable at an offset
 *
 * Goes down through structures, base classes (unnamed in the path), unnamed
 * members, unions (the first member that fits) and arrays of any rank.
 */
#include "symbol/path.h"

#include <dwarf.h>
#include <inttypes.h>

enum { PATH_DEPTH = 32, RANK_MAX = 8 };

bool path_type(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attr;

    return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, type) &&
           dwarf_peel_type(type, type) == 0;
}

uint64_t path_type_bytes(const Dwarf_Die *type)
{
    Dwarf_Die copy = *type;
    Dwarf_Word bytes;

    return dwarf_aggregate_size(&copy, &bytes) == 0 ? bytes : 0;
}

/* Where a member is in its structure; false for static ones. */
static bool member_offset(Dwarf_Die *member, uint64_t *offset)
{
    Dwarf_Attribute attr;
    Dwarf_Word n;

    if (dwarf_attr(member, DW_AT_data_member_location, &attr)) {
        if (dwarf_formudata(&attr, &n) != 0)
            return false; /* an expression: a virtual base */
        *offset = n;
        return true;
    }
    if (dwarf_attr(member, DW_AT_data_bit_offset, &attr) && dwarf_formudata(&attr, &n) == 0) {
        *offset = n / 8;
        return true;
    }
    *offset = 0; /* a union's */
    return !dwarf_hasattr(member, DW_AT_external) && !dwarf_hasattr(member, DW_AT_declaration);
}

/* The bytes a bit field touches; 0 where the member is none. */
static uint64_t bit_field_bytes(Dwarf_Die *member)
{
    Dwarf_Attribute attr;
    Dwarf_Word bits, start = 0;

    if (!dwarf_attr(member, DW_AT_bit_size, &attr) || dwarf_formudata(&attr, &bits) != 0)
        return 0;
    if (dwarf_attr(member, DW_AT_data_bit_offset, &attr))
        dwarf_formudata(&attr, &start);
    return (start % 8 + bits + 7) / 8;
}

struct goal {
    uint64_t offset, bytes;
};

/* Of a structure: the member that holds the goal, its type, and the goal within it. */
static bool find_member(const Dwarf_Die *type, struct goal *g, Dwarf_Die *member, Dwarf_Die *inner)
{
    Dwarf_Die outer = *type;
    uint64_t start, bytes;

    if (dwarf_child(&outer, member) != 0)
        return false;
    do {
        int tag = dwarf_tag(member);

        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !member_offset(member, &start) ||
            !path_type(member, inner))
            continue;
        bytes = bit_field_bytes(member);
        bytes = bytes ? bytes : path_type_bytes(inner);
        if (g->offset < start || g->offset + g->bytes > start + bytes)
            continue;
        g->offset -= start;
        return true;
    } while (dwarf_siblingof(member, member) == 0);
    return false;
}

/* Elements of each dimension; the rank, 0 where something is unknown. */
static int array_ranks(const Dwarf_Die *type, uint64_t *counts)
{
    Dwarf_Die outer = *type, die;
    int n = 0;

    if (dwarf_child(&outer, &die) != 0)
        return 0;
    do {
        Dwarf_Attribute attr;
        Dwarf_Word value = 0;

        if (dwarf_tag(&die) != DW_TAG_subrange_type)
            continue;
        if (n == RANK_MAX)
            return 0;
        if (dwarf_attr_integrate(&die, DW_AT_count, &attr) && dwarf_formudata(&attr, &value) == 0)
            counts[n++] = value;
        else if (dwarf_attr_integrate(&die, DW_AT_upper_bound, &attr) &&
                 dwarf_formudata(&attr, &value) == 0)
            counts[n++] = value + 1;
        else
            return n == 0 ? (counts[0] = UINT64_MAX, 1) : 0;
    } while (dwarf_siblingof(&die, &die) == 0);
    return n;
}

/* Append "[1][2]" and leave the goal within the element; false where it spans elements. */
static bool enter_array(struct buf *b, const Dwarf_Die *type, struct goal *g, Dwarf_Die *inner)
{
    uint64_t counts[RANK_MAX], size, index, each = 1;
    Dwarf_Die copy = *type;
    int n = array_ranks(type, counts);

    if (n == 0 || !path_type(&copy, inner) || (size = path_type_bytes(inner)) == 0 ||
        g->offset % size + g->bytes > size)
        return false;
    index = g->offset / size;
    for (int i = 1; i < n; i++)
        each *= counts[i];
    if (each == 0)
        return false;
    for (int i = 0; i < n; i++) {
        buf_addf(b, "[%" PRIu64 "]", index / each);
        index %= each;
        each = i + 1 < n && counts[i + 1] ? each / counts[i + 1] : 1;
    }
    g->offset %= size;
    return true;
}

uint64_t path_append(struct buf *b, const Dwarf_Die *type, uint64_t offset, uint64_t bytes)
{
    struct goal g = { offset, bytes ? bytes : 1 };
    Dwarf_Die at = *type, member, inner;

    for (int depth = 0; depth < PATH_DEPTH; depth++) {
        int tag = dwarf_tag(&at);

        if (tag == DW_TAG_array_type) {
            if (!enter_array(b, &at, &g, &inner))
                break;
        } else if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
                   tag == DW_TAG_union_type) {
            if (!find_member(&at, &g, &member, &inner))
                break;
            if (dwarf_tag(&member) == DW_TAG_member && dwarf_diename(&member))
                buf_addf(b, ".%s", dwarf_diename(&member));
        } else {
            break;
        }
        at = inner;
    }
    return g.offset;
}
