/* frame.c - messages over a stream socket */
#include "base/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

enum { HEADER = sizeof(((struct frame *)0)->header), PIECE = 1 << 20 };

void frame_release(struct frame *f)
{
    buf_release(&f->body);
    *f = (struct frame){ 0 };
}

static void put32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- sending ---- */

int frame_send_bytes(int fd, const void *bytes, size_t n)
{
    for (const char *p = bytes; n;) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

int frame_send(int fd, uint32_t kind, const void *bytes, size_t n)
{
    uint8_t header[HEADER];

    if (n > FRAME_BYTES_MAX)
        return -1;
    put32(header, (uint32_t)n);
    put32(header + 4, kind);
    if (frame_send_bytes(fd, header, sizeof(header)) < 0)
        return -1;
    return frame_send_bytes(fd, bytes, n);
}

/* ---- receiving ---- */

int frame_receive_bytes(int fd, void *bytes, size_t n)
{
    for (char *p = bytes; n;) {
        ssize_t k = recv(fd, p, n, 0);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* 1: something to receive (or the end), 0: woken. */
static int frame_wait_for(int fd, int wake)
{
    struct pollfd fds[2] = { { fd, POLLIN, 0 }, { wake, POLLIN, 0 } };

    while (poll(fds, wake < 0 ? 1 : 2, -1) < 0)
        if (errno != EINTR)
            return 1; /* recv() will say */
    return fds[1].revents && wake >= 0 ? 0 : 1;
}

static bool frame_is_complete(const struct frame *f)
{
    return f->have >= HEADER && f->have - HEADER == get32(f->header);
}

/* Where the next bytes go, and how many are welcome. The body grows with what arrives, not with
 * what was announced. */
static size_t room(struct frame *f, void **at)
{
    size_t missing;

    if (f->have < HEADER) {
        *at = f->header + f->have;
        return HEADER - f->have;
    }
    missing = get32(f->header) - (f->have - HEADER);
    if (missing > PIECE)
        missing = PIECE;
    buf_reserve(&f->body, missing);
    *at = f->body.data + f->body.len;
    return missing;
}

/* -1: no more. */
static int receive_some(struct frame *f, int fd)
{
    void *at;
    size_t most = room(f, &at);
    ssize_t k = recv(fd, at, most, 0);

    if (k < 0 && errno == EINTR)
        return 0;
    if (k <= 0)
        return -1;
    if (f->have >= HEADER)
        f->body.len += (size_t)k;
    f->have += (size_t)k;
    return f->have >= HEADER && get32(f->header) > FRAME_BYTES_MAX ? -1 : 0;
}

int frame_receive(struct frame *f, int fd, int wake)
{
    if (frame_is_complete(f)) { /* that was the last one */
        f->have = f->body.len = 0;
    }
    while (!frame_is_complete(f)) {
        if (!frame_wait_for(fd, wake))
            return 0;
        if (receive_some(f, fd) < 0)
            return -1;
    }
    f->kind = get32(f->header + 4);
    return 1;
}
