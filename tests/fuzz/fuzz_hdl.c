/* fuzz_hdl.c - libFuzzer target for .hdl files
 *
 * Checksums would stop the fuzzer at the door, so they are made right first,
 * as are the magic bytes and the numbers of the chunks; everything else is as
 * it comes. Once as a whole, and once as it came.
 */
#include "fuzz_format.h"
#include "trace/hdl/format.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int file = -1; /* the input as a file: .hdl sources take a path */

static struct source *open_file(struct input *in, struct tables *t, struct trace_info *i,
                                struct error *err)
{
    char path[64];

    input_close(in);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return hdl_open(path, t, i, err);
}

static size_t fix_file_header(uint8_t *data)
{
    struct hdl_file_header h;

    memcpy(&h, data, sizeof(h));
    memcpy(h.magic, HDL_MAGIC, sizeof(h.magic));
    h.major = HDL_MAJOR;
    h.required &= HDL_FEATURES_KNOWN;
    h.order %= 3;
    h.header_bytes = sizeof(h);
    h.checksum = XXH32(&h, sizeof(h) - 4, 0);
    memcpy(data, &h, sizeof(h));
    return sizeof(h);
}

/* A chunk that would end behind the file ends with it. */
static size_t fix_chunk(uint8_t *data, size_t left, uint32_t number)
{
    struct hdl_chunk_header h;

    memcpy(&h, data, sizeof(h));
    h.magic = HDL_CHUNK_MAGIC;
    h.number = number;
    if (h.stored_bytes > left - sizeof(h))
        h.stored_bytes = (uint32_t)(left - sizeof(h));
    h.checksum = XXH3_64bits(data + sizeof(h), h.stored_bytes);
    h.header_checksum = XXH32(&h, sizeof(h) - 4, 0);
    memcpy(data, &h, sizeof(h));
    return sizeof(h) + h.stored_bytes;
}

static void fix(uint8_t *data, size_t len)
{
    size_t at;

    if (len < sizeof(struct hdl_file_header))
        return;
    at = fix_file_header(data);
    for (uint32_t n = 0; len - at >= sizeof(struct hdl_chunk_header); n++)
        at += fix_chunk(data + at, len - at, n);
}

static void read_as_file(const uint8_t *data, size_t len)
{
    struct buf text = { 0 };

    if (file < 0)
        file = memfd_create("fuzz_hdl", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, len, 0) != (ssize_t)len)
        abort();
    fuzz_read(open_file, "", 0, &text);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len + 1);

    if (!copy)
        return 0;
    read_as_file(data, len);
    if (len)
        memcpy(copy, data, len);
    fix(copy, len);
    read_as_file(copy, len);
    free(copy);
    return 0;
}
