/* http.c - a small web server on libmicrohttpd; module heddle-http.so
 *
 * GET and HEAD only. One thread answers, so that requests never pile up work on the store. The
 * Host of a request must be a number, localhost, or what the user listens at: else a web page
 * elsewhere could read ours by a name that it lets point here.
 */
#include "fleet/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 64, TIMEOUT_SECONDS = 30 };

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
    ok = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *why)
{
    return send_text(c, status, "text/plain", strdup(why), strlen(why));
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *body,
                              size_t *bytes, void **state)
{
    struct http_server *h = arg;
    const char *type = "text/plain";
    char *text = NULL;
    size_t n = 0;
    FILE *out;
    int status;

    (void)version;
    (void)body;
    (void)state;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        *bytes = 0;
        return refuse(c, 405, "read-only\n");
    }
    if (!is_our_host(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
        return refuse(c, 421, "not a name of this server\n");
    out = open_memstream(&text, &n);
    if (!out)
        return MHD_NO;
    status = h->answer(h->arg, path, out, &type);
    fclose(out);
    return send_text(c, status, type, text, n);
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
    if (fd < 0 || bind(fd, (struct sockaddr *)&to, n) < 0 || listen(fd, CONNECTIONS_MAX) < 0 ||
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

__attribute__((visibility("default"))) int heddle_http_serve(struct http_server *h,
                                                             struct error *err)
{
    int fd = listen_at(h, err);
    struct MHD_Daemon *d;

    if (fd < 0)
        return -1;
    d = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, handle, h,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)TIMEOUT_SECONDS, MHD_OPTION_END);
    if (!d) {
        close(fd);
        return error_set(err, "cannot start the web server");
    }
    h->ready(h);
    while (!*h->stop)
        usleep(50000);
    MHD_stop_daemon(d);
    return 0;
}
