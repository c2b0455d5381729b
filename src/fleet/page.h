/* page.h - what `heddle fleet serve` shows; read-only
 *
 *     /              the funnel of each program, its races, the last runs
 *     /races         the races in full (report/html.h)
 *     /status.json   /races.json   /runs.json
 */
#ifndef HEDDLE_FLEET_PAGE_H
#define HEDDLE_FLEET_PAGE_H

#include "fleet/status.h"

bool page_is_there(const char *path);
/* A file that needs no store: written into out. */
bool page_file(const char *path, FILE *out, const char **type);
/* Answer one request for a page that is there; `type` becomes the media type. The HTTP status: 200,
 * 500. */
int page_answer(struct store *s, const struct status_about *about, const char *path, FILE *out,
                const char **type);

#endif
