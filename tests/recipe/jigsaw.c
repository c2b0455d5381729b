/* jigsaw - a web server's pool of clients and its store of resources
 *
 * A reduction of W3C's Jigsaw: a client (thread) joins the pool while the server runs and the pool
 * is not full; the pool keeps counts of who is idle and busy and a load that decides whether to
 * serve, to shed, or to make another client. A resource is loaded when a request first needs it,
 * under the store's lock, but looked up without it; its usage is counted without it. At the end the
 * server looks at what was served and shuts down, which everybody looks at. Observed: the clients
 * serve one after another; the server is shut down last. Marks are fields. `loads` is guarded. The
 * body is written once, under the lock, and read after `loaded` was seen: a reader that sees it
 * unlocked has its write before it, so no race.
 */
// find mc: count count
// find recipe-s: load load
// find recipe-s: usage usage
// find recipe: refused refused
// find recipe: shed shed
// find recipe: late late
// vars: down count idle busy served load shed extra refused loaded usage late
// never: loads loads
// never: body body
// stdout: 6 served, 3 loads, 0 refused, 0 evicted, 0 late, down 1
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CLIENTS = 3, RESOURCES = 3, REQUESTS = 2, MAX_CLIENTS = 6, HEAVY = 6 };

struct resource {
    int loaded, body, usage;
};

static struct resource store[RESOURCES];
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static int loads; /* guarded by store_lock */

static int count, idle, busy, served, load, shed, extra; /* the pool, not guarded */
static int shutting_down, refused, late, evicted;
static int sent[CLIENTS];

static struct resource *lookup(int i)
{
    struct resource *r = &store[i];

    if (!r->loaded) { // [loaded]
        pthread_mutex_lock(&store_lock);
        if (!r->loaded) {      // [loaded]
            r->body = 100 + i; // [body]
            loads++;           // [loads]
            r->loaded = 1;     // [loaded]
        }
        pthread_mutex_unlock(&store_lock);
    }
    return r;
}

static int reply(struct resource *r)
{
    r->usage++;     // [usage]
    return r->body; // [body]
}

static int join_pool(void)
{
    if (shutting_down || count >= MAX_CLIENTS) { // [down] [count]
        refused++;                               // [refused]
        return 0;
    }
    count++; // [count]
    idle++;  // [idle]
    return 1;
}

static int begin_request(void)
{
    if (load >= HEAVY) { // [load]
        shed++;          // [shed]
        return 0;
    }
    idle--;                           // [idle]
    busy++;                           // [busy]
    load = (3 * load + 8 * busy) / 4; // [load] [busy]
    if (idle < 0)                     // [idle]
        extra++;                      // [extra]
    return 1;
}

static void end_request(void)
{
    busy--;   // [busy]
    idle++;   // [idle]
    served++; // [served]
}

static void *client(void *arg)
{
    int me = *(int *)arg;

    if (!join_pool())
        return NULL;
    for (int i = 0; i < REQUESTS; i++) {
        if (shutting_down) { // [down]
            late++;          // [late]
            break;
        }
        if (begin_request()) {
            sent[me] += reply(lookup((me + i) % RESOURCES));
            end_request();
        }
    }
    return NULL;
}

static void *shut_down(void *arg)
{
    if (served > 0 && busy == 0) // [served] [busy]
        shutting_down = 1;       // [down]
    else if (idle < count)       // [idle] [count]
        shutting_down = 2;       // [down]
    for (int i = 0; i < RESOURCES; i++)
        if (store[i].usage < 2) // [usage]
            evicted++;
    if (refused + shed + extra > 0) // [refused] [shed] [extra]
        load = 0;                   // [load]
    return arg;
}

int main(void)
{
    int numbers[CLIENTS] = { 0, 1, 2 };
    pthread_t t[CLIENTS + 1];
    int n = 0;

    for (; n < CLIENTS; n++) {
        pthread_create(&t[n], NULL, client, &numbers[n]);
        usleep(10000);
    }
    pthread_create(&t[n++], NULL, shut_down, NULL);
    while (n > 0)
        pthread_join(t[--n], NULL);
    printf("%d served, %d loads, %d refused, %d evicted, %d late, down %d\n", served, loads,
           refused, evicted, late, shutting_down);
    return 0;
}
