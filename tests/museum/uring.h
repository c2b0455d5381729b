/* uring.h - a ring of one entry, by system calls alone: open, submit, wait for its completion */
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct uring {
    int fd;
    unsigned *sq_tail, *sq_array, *cq_head, *cq_tail, sq_mask, cq_mask;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
};

static inline int uring_open(struct uring *ring)
{
    struct io_uring_params p;
    char *sq, *cq;

    memset(&p, 0, sizeof(p));
    ring->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (ring->fd < 0)
        return -1;
    sq = (char *)mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED,
                      ring->fd, IORING_OFF_SQ_RING);
    cq = (char *)mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
                      PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
    ring->sqes =
        (struct io_uring_sqe *)mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe),
                                    PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQES);
    ring->sq_tail = (unsigned *)(sq + p.sq_off.tail);
    ring->sq_array = (unsigned *)(sq + p.sq_off.array);
    ring->sq_mask = *(unsigned *)(sq + p.sq_off.ring_mask);
    ring->cq_head = (unsigned *)(cq + p.cq_off.head);
    ring->cq_tail = (unsigned *)(cq + p.cq_off.tail);
    ring->cq_mask = *(unsigned *)(cq + p.cq_off.ring_mask);
    ring->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
    return 0;
}

static inline void uring_submit(struct uring *ring, int op, int fd, void *buffer, unsigned bytes)
{
    unsigned tail = *ring->sq_tail, at = tail & ring->sq_mask;

    memset(&ring->sqes[at], 0, sizeof(ring->sqes[at]));
    ring->sqes[at].opcode = (uint8_t)op;
    ring->sqes[at].fd = fd;
    ring->sqes[at].addr = (uint64_t)(uintptr_t)buffer;
    ring->sqes[at].len = bytes;
    ring->sqes[at].off = (uint64_t)-1;
    ring->sq_array[at] = at;
    __atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
    syscall(SYS_io_uring_enter, ring->fd, 1, 0, 0, NULL, 0);
}

static inline int uring_wait(struct uring *ring)
{
    unsigned head = *ring->cq_head;
    int result;

    while (__atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) == head)
        syscall(SYS_io_uring_enter, ring->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    result = ring->cqes[head & ring->cq_mask].res;
    __atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}
