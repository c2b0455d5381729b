/* fleet_serve.c - heddle fleet serve: the funnel, the races and the runs as a page */
#include "base/alloc.h"
#include "base/module.h"
#include "cmd/production/fleet.h"
#include "fleet/http.h"
#include "fleet/page.h"
#include "fleet/spool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 2000 };

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    (void)sig;
    stop = 1;
}

/* The store is opened for each request: it may be replaced, a server restarted. */
static int fleet_serve_answer(void *arg, const char *path, FILE *out, const char **type)
{
    const struct fleet_place *place = arg;
    struct status_about about = { .store = place->shown };
    struct error err;
    struct store *s;
    int status;

    if (page_file(path, out, type))
        return 200;
    if (!page_is_there(path)) {
        fputs("not found\n", out);
        return 404;
    }
    about.spooled = spool_count(place->spool);
    s = store_open(place->where, SQL_READ, PATIENCE_MS, &err);
    if (!s) {
        fprintf(out, "%s\n", err.text);
        *type = "text/plain; charset=utf-8";
        return 503;
    }
    status = page_answer(s, &about, path, out, type);
    store_close(s);
    return status;
}

static void ready(const struct http_server *h)
{
    bool v6 = strchr(h->address, ':') != NULL;

    printf("http://%s%s%s:%u/\n", v6 ? "[" : "", h->address, v6 ? "]" : "", h->port);
    fflush(stdout);
}

/* "ADDRESS:PORT", "[V6]:PORT", "PORT", "ADDRESS"; the address is owned by the caller. */
static bool parse_listen(const char *text, char **address, uint16_t *port)
{
    const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : text;
    char *end;
    unsigned long n = strtoul(digits, &end, 10);
    size_t length = colon ? (size_t)(colon - text) : 0;

    if (!*digits || *end || n > 65535)
        return false;
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']')
        *address = xstrndup(text + 1, length - 2);
    else
        *address = length ? xstrndup(text, length) : xasprintf("127.0.0.1");
    if (strcmp(*address, "localhost") == 0) {
        free(*address);
        *address = xasprintf("127.0.0.1");
    }
    *port = (uint16_t)n;
    return true;
}

static int serve(const struct fleet_place *place, char *address, uint16_t port)
{
    struct http_server h = { .address = address,
                             .port = port,
                             .answer = fleet_serve_answer,
                             .ready = ready,
                             .arg = (void *)(uintptr_t)place,
                             .stop = &stop };
    struct error err;
    struct store *s = store_open(place->where, SQL_READ, PATIENCE_MS, &err);
    http_serve *run = s ? (http_serve *)module_symbol("http", "heddle_http_serve", &err) : NULL;

    if (!s)
        return bad_input("%s", err.text);
    store_close(s);
    if (!run)
        return own_failure("%s", err.text);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    return run(&h, &err) < 0 ? own_failure("%s", err.text) : EXIT_NOTHING;
}

int fleet_serve(const struct options *o)
{
    struct fleet_place place;
    char *address;
    uint16_t port;
    int code;

    if (!parse_listen(o->texts[OPT_LISTEN], &address, &port))
        return usage_error(o->command, "option '--listen' takes ADDRESS:PORT, not '%s'",
                           o->texts[OPT_LISTEN]);
    fleet_place_init(&place, o);
    code = serve(&place, address, port);
    fleet_place_release(&place);
    free(address);
    return code;
}
