/* http.c - a small web server on libmicrohttpd; module heddle-http.so
 *
 * GET and HEAD only. One thread answers, so that requests never pile up work on the store. The
 * Host of a request must be a number, localhost, or what the user listens at: else a web page
 * elsewhere could read ours by a name that it lets point here.
 *
 * Clients that are slow, or only pretend to be clients, must not keep others out. The library can
 * bound how long a connection is silent, but a byte now and then is no silence; and when it has as
 * many connections as it may it accepts no more. So connections are accepted here (http_guests.h):
 * each has a time in which its request must be complete and one in which it must have read the
 * answer; where there are too many, or too much memory waits to be read, the oldest of the address
 * that has most must go.
 */
#include "fleet/http.h"
#include "fleet/http_guests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    BACKLOG = 128,
    SILENCE_SECONDS = 10,         /* on a connection */
    CONNECTION_BYTES = 16 * 1024, /* of memory for a request: longer heads are refused */
    SWEEP_MS = 200,
    LEAVING_MS = 5, /* until a connection that must go is closed */
    SPARE = 16, /* connections that the library may have beyond ours: it locks up at its limit */
    OWN_DESCRIPTORS = 32 /* beside connections: the store's, and those of the library */
};

struct server {
    struct http_server *http;
    struct guests guests;
};

static bool is_our_host(const char *host)
{
    size_t n;

    if (!host)
        return true; /* HTTP/1.0 */
    if (host[0] == '[')
        return strspn(host, "[]:.0123456789abcdefABCDEF") == strlen(host);
    n = strcspn(host, ":");
    if (strspn(host + n, ":0123456789") != strlen(host + n))
        return false;
    return (n == 9 && strncmp(host, "localhost", 9) == 0) || strspn(host, "0123456789.") >= n;
}

static enum MHD_Result send_text(struct MHD_Connection *c, int status, const char *type, char *text,
                                 size_t bytes)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result ok;

    if (!r) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; style-src 'self'; script-src 'self'; "
                            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    MHD_add_response_header(r, "X-Frame-Options", "DENY");
    MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    if (status == 405)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    ok = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result http_refuse(struct MHD_Connection *c, int status, const char *why)
{
    return send_text(c, status, "text/plain", strdup(why), strlen(why));
}

static int socket_of(struct MHD_Connection *c)
{
    return (int)MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *bytes, void **state)
{
    struct server *s = arg;
    const char *type = "text/plain",
               *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    char *text = NULL;
    size_t n = 0;
    FILE *out;
    int status;

    (void)body;
    (void)state;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *bytes = 0;
        return http_refuse(c, 405, "read-only\n");
    }
    if (!host && strcmp(version, "HTTP/1.0") != 0)
        return http_refuse(c, 400, "the Host is missing\n");
    if (!is_our_host(host))
        return http_refuse(c, 421, "not a name of this server\n");
    out = open_memstream(&text, &n);
    if (!out)
        return MHD_NO;
    guests_answer(&s->guests, socket_of(c));
    status = s->http->answer(s->http->arg, path, out, &type);
    fclose(out);
    guests_send(&s->guests, socket_of(c), n);
    return send_text(c, status, type, text, n);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct server *s = arg;

    (void)state;
    (void)how;
    guests_read(&s->guests, socket_of(c));
}

/* Called before the socket is closed. */
static void on_connection(void *arg, struct MHD_Connection *c, void **state,
                          enum MHD_ConnectionNotificationCode what)
{
    struct server *s = arg;

    (void)state;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        guests_remove(&s->guests, socket_of(c));
}

/* The family and length, or 0. */
static socklen_t parse_address(const struct http_server *h, struct sockaddr_storage *to)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)to;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

    memset(to, 0, sizeof(*to));
    if (inet_pton(AF_INET, h->address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(h->port);
        return sizeof(*v4);
    }
    memset(to, 0, sizeof(*to));
    if (inet_pton(AF_INET6, h->address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(h->port);
        return sizeof(*v6);
    }
    return 0;
}

static int listen_at(struct http_server *h, struct error *err)
{
    struct sockaddr_storage to;
    socklen_t n = parse_address(h, &to);
    int fd, on = 1;

    if (!n)
        return error_set(err, "'%s' is no address", h->address);
    fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || bind(fd, (struct sockaddr *)&to, n) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&to, &n) < 0) {
        error_set(err, "cannot listen at '%s' port %u: %s", h->address, h->port, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    h->port = ntohs(to.ss_family == AF_INET ? ((struct sockaddr_in *)&to)->sin_port
                                            : ((struct sockaddr_in6 *)&to)->sin6_port);
    return fd;
}

static void http_take(struct server *s, struct MHD_Daemon *d, int listener)
{
    struct sockaddr_storage from = { 0 };
    socklen_t n = sizeof(from);
    int fd;

    if (!guests_has_room(&s->guests)) {
        usleep(LEAVING_MS * 1000);
        return;
    }
    fd = accept4(listener, (struct sockaddr *)&from, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) { /* those who wait go on waiting */
            guests_make_room(&s->guests);
            usleep(SWEEP_MS * 1000);
        }
        return;
    }
    guests_add(&s->guests, fd, &from);
    if (MHD_add_connection(d, fd, (struct sockaddr *)&from, n) != MHD_YES)
        guests_remove(&s->guests, fd); /* the library has closed it */
}

static void accept_all(struct server *s, struct MHD_Daemon *d, int listener)
{
    while (!*s->http->stop) {
        struct pollfd p = { .fd = listener, .events = POLLIN };

        if (poll(&p, 1, SWEEP_MS) > 0)
            http_take(s, d, listener);
        guests_sweep(&s->guests);
    }
}

/* As many as there are descriptors for; the library needs room for those that are about to go. */
static size_t connections(void)
{
    struct rlimit limit = { .rlim_cur = 256 };
    size_t n;

    getrlimit(RLIMIT_NOFILE, &limit);
    n = limit.rlim_cur > OWN_DESCRIPTORS + 16 ? (limit.rlim_cur - OWN_DESCRIPTORS) / 2 : 8;
    return n < GUESTS_MAX ? n : GUESTS_MAX;
}

__attribute__((visibility("default"))) int heddle_http_serve(struct http_server *h,
                                                             struct error *err)
{
    struct server s = { .http = h };
    int fd = listen_at(h, err);
    struct MHD_Daemon *d;

    if (fd < 0)
        return -1;
    guests_init(&s.guests, connections());
    d = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET, 0,
        NULL, NULL, handle, &s, MHD_OPTION_CONNECTION_LIMIT, (unsigned)(2 * s.guests.most),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, &s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, &s, MHD_OPTION_END);
    if (!d) {
        close(fd);
        return error_set(err, "cannot start the web server");
    }
    h->ready(h);
    accept_all(&s, d, fd);
    close(fd);
    MHD_stop_daemon(d);
    guests_release(&s.guests);
    return 0;
}
