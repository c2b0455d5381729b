/* exchange.c - heddle-mpi: tell every process of an MPI job what rank 0 has to say
 *
 * The only program of ours that is linked with MPI, started by `heddle analyze
 * --mpi` in every process (cmd/mpi.c). It says who we are, passes one message
 * from rank 0 to all, and ends: the work itself goes over sockets, since an
 * MPI job does not survive the loss of a process (docs/design/mpi.md).
 *
 *     standard output:  struct exchange_place, then (not rank 0) the message
 *     standard input:   (rank 0) the message
 *
 * A message is its length, 32 bits, and so many bytes; none: length 0.
 */
#include "mpi/exchange.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int exchange_put(const void *data, size_t n)
{
    for (const char *p = data; n;) {
        ssize_t k = write(STDOUT_FILENO, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static int get(void *data, size_t n)
{
    for (char *p = data; n;) {
        ssize_t k = read(STDIN_FILENO, p, n);

        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

static struct exchange_place find_place(void)
{
    struct exchange_place place = { .magic = EXCHANGE_MAGIC };
    MPI_Comm machine;
    int rank, size, neighbours;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &neighbours);
    MPI_Comm_free(&machine);
    place.rank = (uint32_t)rank;
    place.size = (uint32_t)size;
    place.neighbours = (uint32_t)neighbours;
    return place;
}

/* Length and bytes; one that cannot be read is none. */
static void read_message(struct exchange_message *m)
{
    if (get(&m->bytes, sizeof(m->bytes)) < 0 || m->bytes > sizeof(m->data) ||
        get(m->data, m->bytes) < 0)
        m->bytes = 0;
}

int main(int argc, char **argv)
{
    static struct exchange_message message;
    struct exchange_place place;
    int r;

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return EXIT_FAILURE;
    place = find_place();
    r = exchange_put(&place, sizeof(place));
    if (place.rank == 0)
        read_message(&message);
    MPI_Bcast(&message, sizeof(message), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (place.rank != 0 && r == 0)
        r = exchange_put(&message, sizeof(message.bytes) + message.bytes);
    MPI_Finalize();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
