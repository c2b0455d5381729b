/* frame.h - messages over a stream socket
 *
 * A message is a kind and some bytes; on the wire 8 bytes, length and kind,
 * low byte first, and the bytes. Sending waits until all is handed over;
 * receiving can be interrupted and goes on later where it was.
 *
 *     struct frame f = { 0 };
 *     while ((r = frame_receive(&f, fd, wake)) > 0) ...f.kind, f.body...
 *     frame_release(&f);
 *
 * Concurrency: one sender and one receiver of a socket at a time.
 */
#ifndef HEDDLE_BASE_FRAME_H
#define HEDDLE_BASE_FRAME_H

#include <stdint.h>

#include "base/buf.h"

/* Longer ones are broken. The longest there are: the schedules of a share of questions. */
#define FRAME_BYTES_MAX (UINT32_C(256) << 20)

struct frame {
    uint32_t kind;
    struct buf body;
    /* inside: */
    uint8_t header[8];
    size_t have; /* of header and body */
};

void frame_release(struct frame *f);

/* 1: a message is there, until the next call. 0: `wake` (a descriptor, or -1) became readable
 * first. -1: the other side is gone, or what it sends is no message. */
int frame_receive(struct frame *f, int fd, int wake);
/* 0, or -1: the other side is gone or takes nothing, or the message is too long. */
int frame_send(int fd, uint32_t kind, const void *bytes, size_t n);

/* The same without a frame around it: exactly so many bytes. */
int frame_send_bytes(int fd, const void *bytes, size_t n);
int frame_receive_bytes(int fd, void *bytes, size_t n);

#endif
