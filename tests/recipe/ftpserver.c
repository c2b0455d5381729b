/* ftpserver - the core of an FTP server: connections, statistics, a timer that closes idle ones
 *
 * A reduction of Apache FtpServer as papers on race detection describe it: a handler per connection
 * (RequestHandler) logs in if the server is not full, works on its requests and leaves when
 * somebody closed it; the timer closes connections that seem idle; close() looks at
 * m_isConnectionClosed without a lock, then takes the fields away one by one. FtpStatistics is
 * updated by all and read by the administrator when there is something to show. The list of
 * connections is guarded. Observed: handlers run one after another, the timer finds nobody idle,
 * the administrator shows what was done and stops the server. Each mark is a field. A connection's
 * fields are written by main before its thread exists, so never race with that. Nothing is locked
 * but the list, so accesses to one field from two threads race; only what happens to a connection
 * before it is in the list is its handler's alone.
 */
// find mc: logins logins
// find mc: clock clock
// find recipe-s: bytes bytes
// find recipe-s: downs downs
// find recipe-s: ups ups
// find recipe: killed killed
// find recipe: stopped stopped
// vars: stopped logins current peak ups downs bytes quota clock access closed request writer
// vars: reader refused killed aborted last dcached entries dirty bans banned until
// never: list list
// never: start request
// never: start closed
// stdout: 3 logins, 137 bytes, 3 current, peak 3, 0 killed, shown 137
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { CONNECTIONS = 3, REQUESTS = 2, IDLE = 9, QUOTA = 140, MAX_LOGINS = 8 };

struct connection {
    int id;
    int request, writer, reader; /* 0: taken away */
    int closed;
    long last_access;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *list[CONNECTIONS]; /* guarded by list_lock */
static int listed;
static struct connection connections[CONNECTIONS];

static struct {
    int logins, current, peak, uploads, downloads, bytes;
    int refused, killed, aborted, over_quota, last;
} stats;
static long now;
static int stopped;
static int dir_cached, dir_entries, dir_dirty; /* the directory that was listed last */
static int bans, banned, ban_until;            /* who failed too often */
static int shown[8], failures[CONNECTIONS + 1];

static void add_to_list(struct connection *c)
{
    pthread_mutex_lock(&list_lock);
    list[listed++] = c; // [list]
    pthread_mutex_unlock(&list_lock);
}

static struct connection *nth(int i)
{
    struct connection *c;

    pthread_mutex_lock(&list_lock);
    c = i < listed ? list[i] : NULL; // [list]
    pthread_mutex_unlock(&list_lock);
    return c;
}

static void close_connection(struct connection *c)
{
    if (c->closed) // [closed]
        return;
    c->closed = 1;   // [closed]
    c->request = 0;  // [request]
    c->writer = 0;   // [writer]
    c->reader = 0;   // [reader]
    stats.current--; // [current]
}

/* The listing is kept until a file is stored. */
static int list_directory(void)
{
    if (!dir_cached || dir_dirty) {      // [dcached] [dirty]
        dir_entries = 4 + stats.uploads; // [entries] [ups]
        dir_dirty = 0;                   // [dirty]
        dir_cached = 1;                  // [dcached]
    }
    return dir_entries; // [entries]
}

static int is_banned(const struct connection *c)
{
    if (bans > 0 && banned == c->id) // [bans] [banned]
        return now < ban_until;      // [clock] [until]
    return 0;
}

static void ban(const struct connection *c)
{
    banned = c->id;           // [banned]
    ban_until = (int)now + 5; // [clock] [until]
    bans++;                   // [bans]
}

static int log_in(struct connection *c)
{
    if (is_banned(c))
        return 0;
    if (stopped || stats.current >= MAX_LOGINS) { // [stopped] [current]
        stats.refused++;                          // [refused]
        stats.last = c->id;                       // [last]
        return 0;
    }
    stats.logins++;                 // [logins]
    stats.current++;                // [current]
    if (stats.current > stats.peak) // [current] [peak]
        stats.peak = stats.current; // [current] [peak]
    add_to_list(c);
    return 1;
}

static void store_file(struct connection *c, int size)
{
    if (stats.bytes + size > QUOTA) { // [bytes]
        stats.over_quota++;           // [quota]
        stats.last = c->id;           // [last]
        ban(c);
        return;
    }
    dir_dirty = 1;       // [dirty]
    stats.uploads++;     // [ups]
    stats.bytes += size; // [bytes]
}

static void serve(struct connection *c, int i)
{
    now += 2;                                // [clock]
    c->last_access = now;                    // [clock] [access]
    if (c->request == 0 || c->reader == 0) { // [request] [reader]
        failures[c->id]++;
        return;
    }
    c->request = 10 * c->id + i; // [request]
    if (i % 2) {
        store_file(c, 30);
    } else {
        stats.downloads++;                           // [downs]
        stats.bytes += c->writer + list_directory(); // [bytes] [writer]
    }
}

static void *handle(void *arg)
{
    struct connection *c = arg;

    if (!log_in(c))
        return NULL;
    for (int i = 1; i <= REQUESTS; i++) {
        if (c->closed) {     // [closed]
            stats.aborted++; // [aborted]
            return NULL;
        }
        serve(c, i);
    }
    return NULL;
}

static void *watch(void *arg)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = nth(i);

        if (c && now - c->last_access > IDLE) { // [clock] [access]
            stats.killed++;                     // [killed]
            close_connection(c);
        }
    }
    return arg;
}

static void *administer(void *arg)
{
    if (stats.logins > 0) {         // [logins]
        shown[0] = stats.uploads;   // [ups]
        shown[1] = stats.downloads; // [downs]
        shown[2] = stats.bytes;     // [bytes]
        shown[3] = stats.peak;      // [peak]
    }
    if (stats.killed + stats.over_quota + stats.refused > 0) { // [killed] [quota] [refused]
        shown[4] = stats.last;                                 // [last]
        shown[5] = stats.aborted;                              // [aborted]
        return arg;
    }
    stopped = 1; // [stopped]
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = nth(i);

        if (c)
            close_connection(c);
    }
    return arg;
}

int main(void)
{
    pthread_t t[CONNECTIONS + 2];
    int n = 0;

    for (; n < CONNECTIONS; n++) {
        connections[n] =
            (struct connection){ .id = n + 1, .request = 1, .writer = 20, .reader = 1 }; // [start]
        pthread_create(&t[n], NULL, handle, &connections[n]);
        usleep(10000);
    }
    pthread_create(&t[n++], NULL, watch, NULL);
    usleep(10000);
    pthread_create(&t[n++], NULL, administer, NULL);
    while (n > 0)
        pthread_join(t[--n], NULL);
    printf("%d logins, %d bytes, %d current, peak %d, %d killed, shown %d\n", stats.logins,
           stats.bytes, stats.current, stats.peak, stats.killed, shown[2]);
    return 0;
}
