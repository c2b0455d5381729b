/* http.h - a small web server; module heddle-http.so (libmicrohttpd), loaded by `fleet serve` */
#ifndef HEDDLE_FLEET_HTTP_H
#define HEDDLE_FLEET_HTTP_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include <stdbool.h>

#include "base/error.h"

struct http_server {
    const char *address; /* numeric; "127.0.0.1", "::1", "0.0.0.0" */
    uint16_t port;       /* 0: any; then the one that was taken */
    /* Called for GET, by one thread at a time: the HTTP status. */
    int (*answer)(void *arg, const char *path, FILE *out, const char **type);
    void (*ready)(const struct http_server *h); /* it listens */
    void *arg;
    volatile sig_atomic_t *stop; /* set by a signal: ends */
};

/* Until told to stop; 0, or -1 and an error. Exported as "heddle_http_serve". */
typedef int http_serve(struct http_server *h, struct error *err);

#endif
