/* fleet_beside.h - the store is asked by a process of its own, beside the program
 *
 *     fleet_beside_start(j)     a process that opens the store and claims something for the run
 *     fleet_beside_ask(j)       what it was given; false: it did not come in time
 *     fleet_beside_poke(j)      there is something new in the spool
 *     fleet_beside_end(j)       the result is in the spool; waits a moment for its delivery
 *
 * A store may be silent, slow or locked for as long as it likes: the program starts after at most
 * `--wait` (less than a second), plain where nothing was assigned by then, and the command ends at
 * most a second after it. What is assigned too late is given back. What is not delivered then the
 * process goes on with for a while, one for each spool; whatever it does not manage the next run
 * delivers.
 *
 * The process has nothing of the program's: no stream, no terminal, no other descriptor. It ends
 * by itself once the command is gone, however that ended.
 */
#ifndef HEDDLE_CMD_PRODUCTION_FLEET_BESIDE_H
#define HEDDLE_CMD_PRODUCTION_FLEET_BESIDE_H

#include "cmd/production/fleet.h"

void fleet_beside_start(struct fleet_job *j);
/* Fills kind, s1, s2, tries and known of the job. */
bool fleet_beside_ask(struct fleet_job *j);
void fleet_beside_poke(const struct fleet_job *j);
/* True: everything was delivered. */
bool fleet_beside_end(struct fleet_job *j);

#endif
