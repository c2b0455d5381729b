/* http_guests.c - the connections of a web server, and which of them must go */
#include "fleet/http_guests.h"
#include "base/alloc.h"
#include "base/seconds.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

void guests_init(struct guests *g, size_t most)
{
    *g = (struct guests){ .all = xcalloc(2 * most, sizeof(*g->all)), .most = most };
    pthread_mutex_init(&g->lock, NULL);
}

void guests_release(struct guests *g)
{
    pthread_mutex_destroy(&g->lock);
    free(g->all);
}

/* ---- with the lock held ---- */

static struct guest *http_guests_find(struct guests *g, int fd)
{
    for (size_t i = 0; i < 2 * g->most; i++)
        if (g->all[i].state != GUEST_NONE && g->all[i].fd == fd)
            return &g->all[i];
    return NULL;
}

static struct guest *free_place(struct guests *g)
{
    for (size_t i = 0; i < 2 * g->most; i++)
        if (g->all[i].state == GUEST_NONE)
            return &g->all[i];
    return NULL;
}

static bool may_go(const struct guest *q)
{
    return q->state == GUEST_READS || q->state == GUEST_SENT;
}

static bool http_guests_stays(const struct guest *q)
{
    return q->state != GUEST_NONE && q->state != GUEST_GOES;
}

static void dismiss(struct guest *q)
{
    q->state = GUEST_GOES;
    q->bytes = 0;
    shutdown(q->fd, SHUT_RDWR);
}

/* Of the same address. */
static size_t companions(const struct guests *g, const struct guest *q)
{
    size_t n = 0;

    for (size_t i = 0; i < 2 * g->most; i++)
        n += http_guests_stays(&g->all[i]) && memcmp(g->all[i].from, q->from, sizeof(q->from)) == 0;
    return n;
}

/* The oldest of the address with most connections. */
static struct guest *least_welcome(struct guests *g)
{
    struct guest *worst = NULL;
    size_t with = 0;

    for (size_t i = 0; i < 2 * g->most; i++) {
        struct guest *q = &g->all[i];
        size_t n = may_go(q) ? companions(g, q) : 0;

        if (n > with || (n && n == with && q->since < worst->since)) {
            worst = q;
            with = n;
        }
    }
    return worst;
}

static void http_guests_make_room(struct guests *g, size_t most)
{
    struct guest *q;
    size_t n = 0;

    for (size_t i = 0; i < 2 * g->most; i++)
        n += http_guests_stays(&g->all[i]);
    for (; n > most && (q = least_welcome(g)); n--)
        dismiss(q);
}

/* The oldest that does not read what it asked for, as long as too much waits. */
static void free_memory(struct guests *g, const struct guest *self)
{
    size_t sum = 0;

    for (size_t i = 0; i < 2 * g->most; i++)
        sum += g->all[i].bytes;
    while (sum > GUESTS_SEND_BYTES) {
        struct guest *oldest = NULL;

        for (size_t i = 0; i < 2 * g->most; i++) {
            struct guest *q = &g->all[i];

            if (q->state == GUEST_SENT && q != self && (!oldest || q->since < oldest->since))
                oldest = q;
        }
        if (!oldest)
            return;
        sum -= oldest->bytes;
        dismiss(oldest);
    }
}

/* ---- from outside ---- */

/* Addresses of the one family as those of the other. */
static void take_address(struct guest *q, const struct sockaddr_storage *from)
{
    if (from->ss_family == AF_INET6)
        memcpy(q->from, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
    else if (from->ss_family == AF_INET)
        memcpy(q->from, &((const struct sockaddr_in *)from)->sin_addr, 4);
}

bool guests_has_room(struct guests *g)
{
    bool has;

    pthread_mutex_lock(&g->lock);
    http_guests_make_room(g, g->most - 1);
    has = free_place(g) != NULL;
    pthread_mutex_unlock(&g->lock);
    return has;
}

void guests_add(struct guests *g, int fd, const struct sockaddr_storage *from)
{
    struct guest *q;

    pthread_mutex_lock(&g->lock);
    q = free_place(g);
    if (q) {
        *q = (struct guest){ .state = GUEST_READS, .fd = fd, .since = seconds_now() };
        take_address(q, from);
    }
    pthread_mutex_unlock(&g->lock);
}

void guests_remove(struct guests *g, int fd)
{
    struct guest *q;

    pthread_mutex_lock(&g->lock);
    q = http_guests_find(g, fd);
    if (q)
        *q = (struct guest){ .state = GUEST_NONE };
    pthread_mutex_unlock(&g->lock);
}

static void http_guests_change(struct guests *g, int fd, enum guest_state state, size_t bytes)
{
    struct guest *q;

    pthread_mutex_lock(&g->lock);
    q = http_guests_find(g, fd);
    if (q && q->state != GUEST_GOES) {
        q->state = state;
        q->since = seconds_now();
        q->bytes = bytes;
        if (bytes)
            free_memory(g, q);
    }
    pthread_mutex_unlock(&g->lock);
}

void guests_answer(struct guests *g, int fd)
{
    http_guests_change(g, fd, GUEST_ANSWERED, 0);
}

void guests_send(struct guests *g, int fd, size_t bytes)
{
    http_guests_change(g, fd, GUEST_SENT, bytes);
}

void guests_read(struct guests *g, int fd)
{
    http_guests_change(g, fd, GUEST_READS, 0);
}

void guests_make_room(struct guests *g)
{
    struct guest *q;

    pthread_mutex_lock(&g->lock);
    q = least_welcome(g);
    if (q)
        dismiss(q);
    pthread_mutex_unlock(&g->lock);
}

void guests_sweep(struct guests *g)
{
    double now = seconds_now();

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < 2 * g->most; i++) {
        struct guest *q = &g->all[i];

        if ((q->state == GUEST_READS && now - q->since > GUESTS_REQUEST_S) ||
            (q->state == GUEST_SENT && now - q->since > GUESTS_SEND_S))
            dismiss(q);
    }
    pthread_mutex_unlock(&g->lock);
}
