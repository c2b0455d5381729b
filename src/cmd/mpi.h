/* mpi.h - the option --mpi: decide together with the other processes of an MPI job
 *
 * Rank 0 does all that `heddle analyze` does, and has a crew (engines/crew/crew.h)
 * for the questions of its engines. The other ranks serve it and never come
 * back from mpi_start(). docs/design/mpi.md has the whole story.
 *
 *     code = mpi_start(o);              0, or the exit code
 *     mpi_announce(&operand);           for each trace
 *     mpi_finish(say);                  at the end
 *
 * Without the option all of these do nothing.
 */
#ifndef HEDDLE_CMD_MPI_H
#define HEDDLE_CMD_MPI_H

#include "cmd/common.h"

struct crew;

int mpi_start(const struct options *o);
/* Let the others read the trace, too. 0, or the exit code after a message. */
int mpi_announce(const struct operand *in);
/* Let the others go, and say what they did. */
void mpi_finish(bool say);

/* Of this process; NULL: nobody else. */
struct crew *mpi_crew(void);
/* Processors for this process: all of them, or its part of those it shares with other ranks. */
unsigned mpi_processors(void);

#endif
