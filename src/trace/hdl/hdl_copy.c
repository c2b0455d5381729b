/* hdl_copy.c - the part of a recording that is kept, as a file of its own
 *
 * The recording may be running, and lose more of its beginning meanwhile: then what was copied may
 * have holes, and it is done again. What is copied are the bytes: the header, a start, the chunk
 * that stands for the beginning, the chunks that are kept, an end mark.
 */
#include "base/alloc.h"
#include "base/tempfile.h"
#include "trace/hdl/hdl.h"
#include "trace/hdl/hdl_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { TRIES = 8, AT_A_TIME = 1 << 20 };

/* So many bytes from there on. */
static int copy_bytes(int from, uint64_t at, uint64_t bytes, int to)
{
    char *buffer = xmalloc(AT_A_TIME);
    ssize_t n = 1;

    while (bytes && n > 0) {
        n = pread(from, buffer, bytes < AT_A_TIME ? bytes : AT_A_TIME, (off_t)at);
        if (n > 0 && write(to, buffer, (size_t)n) != n)
            n = -1;
        at += n > 0 ? (uint64_t)n : 0;
        bytes -= n > 0 ? (uint64_t)n : 0;
    }
    free(buffer);
    return bytes ? -1 : 0;
}

static uint64_t end_of_chunks(const struct hdl_file *f)
{
    const struct hdl_chunk *last = f->count > f->past ? hdl_file_chunk(f, f->count - 1) : NULL;

    if (last)
        return last->offset + last->header.stored_bytes;
    return f->header.required & HDL_FEATURE_PAST ? f->start.first : f->header.header_bytes;
}

static int write_end(const struct hdl_file *f, int to)
{
    struct hdl_chunk_header h = { .magic = HDL_CHUNK_MAGIC,
                                  .kind = HDL_END,
                                  .number = (uint32_t)(f->count - f->past) + f->start.number,
                                  .first = f->events };

    h.checksum = XXH3_64bits(NULL, 0);
    h.header_checksum = XXH32(&h, sizeof(h) - 4, 0);
    return f->complete || write(to, &h, sizeof(h)) == sizeof(h) ? 0 : -1;
}

/* A recording that has lost nothing: as it is, up to its last whole chunk. */
static int copy_whole(const struct hdl_file *f, int from, int to)
{
    return copy_bytes(from, 0, end_of_chunks(f), to);
}

static int copy_tail(const struct hdl_file *f, int from, int to)
{
    const uint64_t head = sizeof(f->header) + sizeof(f->start);
    struct hdl_chunk_header past;
    struct hdl_start start = f->start;
    uint64_t past_bytes;

    memcpy(&past, f->map + f->start.past, sizeof(past));
    past_bytes = sizeof(past) + past.stored_bytes;
    start.past = head;
    start.first = head + past_bytes;
    start.checksum = XXH32(&start, sizeof(start) - 4, 0);
    if (write(to, &f->header, sizeof(f->header)) != sizeof(f->header) ||
        write(to, &start, sizeof(start)) != sizeof(start))
        return -1;
    return copy_bytes(from, f->start.past, past_bytes, to) < 0 ||
                   copy_bytes(from, f->start.first, end_of_chunks(f) - f->start.first, to) < 0
               ? -1
               : 0;
}

/* 1: done, 0: what was copied may be gone, -1: an error. */
static int copy_once(const char *path, int to, struct error *err)
{
    struct hdl_start now;
    struct hdl_file f;
    int from = open(path, O_RDONLY | O_CLOEXEC), r = -1;

    if (from < 0)
        return error_set(err, "cannot read '%s': %s", path, strerror(errno));
    if (hdl_file_open(&f, path, err) < 0) {
        error_prefix(err, "cannot read '%s'", path);
        close(from);
        return -1;
    }
    if (ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0 &&
        (f.past ? copy_tail : copy_whole)(&f, from, to) == 0 && write_end(&f, to) == 0) {
        r = !(f.header.required & HDL_FEATURE_PAST) ||
            (pread(from, &now, sizeof(now), sizeof(f.header)) == sizeof(now) &&
             memcmp(&now, &f.start, sizeof(now)) == 0);
    } else {
        error_set(err, "cannot copy '%s': %s", path, strerror(errno));
    }
    hdl_file_close(&f);
    close(from);
    return r;
}

int hdl_copy(const char *path, const char *copy, struct error *err)
{
    char *temporary = NULL;
    int fd = tempfile_create(copy, &temporary), r = 0;

    if (fd < 0)
        return error_set(err, "cannot write '%s': %s", copy, strerror(errno));
    for (int i = 0; i < TRIES && r == 0; i++)
        r = copy_once(path, fd, err);
    if (r == 0)
        error_set(err, "cannot copy '%s': its beginning is dropped faster than it is read", path);
    if (close(fd) < 0 || (r == 1 && rename(temporary, copy) < 0)) {
        error_set(err, "cannot write '%s': %s", copy, strerror(errno));
        r = -1;
    }
    if (r != 1)
        unlink(temporary);
    free(temporary);
    return r == 1 ? 0 : -1;
}
