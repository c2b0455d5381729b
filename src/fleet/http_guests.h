/* http_guests.h - the connections of a web server, and which of them must go
 *
 * A guest reads or is asked (its request is not complete), is answered, or is sent to. The first
 * and the last have their time; the second is ours. Who must go has its socket shut down: the
 * library then closes it, and tells (guests_remove()).
 *
 * Ownership: of the table alone; sockets are the library's. Concurrency: any thread; a lock
 * protects the table, so that no socket is shut down that is already somebody else's.
 */
#ifndef HEDDLE_FLEET_HTTP_GUESTS_H
#define HEDDLE_FLEET_HTTP_GUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    GUESTS_MAX = 256,
    GUESTS_REQUEST_S = 10,       /* for a request, from the first moment or the last answer */
    GUESTS_SEND_S = 60,          /* for reading an answer: a megabyte on a bad line */
    GUESTS_SEND_BYTES = 64 << 20 /* of answers that wait to be read, all in all */
};

enum guest_state { GUEST_NONE, GUEST_READS, GUEST_ANSWERED, GUEST_SENT, GUEST_GOES };

struct guest {
    enum guest_state state;
    int fd;
    double since; /* in this state */
    size_t bytes; /* of the answer */
    uint8_t from[16];
};

struct guests {
    pthread_mutex_t lock;
    struct guest *all; /* owned: twice `most`, since those that must go are still there */
    size_t most;
};

void guests_init(struct guests *g, size_t most);
void guests_release(struct guests *g);

/* Where there are too many another one must go; false: it is not gone yet. */
bool guests_has_room(struct guests *g);
void guests_add(struct guests *g, int fd, const struct sockaddr_storage *from);
void guests_remove(struct guests *g, int fd);
void guests_answer(struct guests *g, int fd);
void guests_send(struct guests *g, int fd, size_t bytes);
void guests_read(struct guests *g, int fd);
/* One must go. */
void guests_make_room(struct guests *g);
/* Those whose time is up must go. */
void guests_sweep(struct guests *g);

#endif
