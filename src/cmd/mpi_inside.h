/* mpi_inside.h - what mpi.c and mpi_serve.c share */
#ifndef HEDDLE_CMD_MPI_INSIDE_H
#define HEDDLE_CMD_MPI_INSIDE_H

#include <netinet/in.h>

#include "cmd/options.h"
#include "engines/crew/crew.h"
#include "mpi/exchange.h"

enum { INVITATION_ADDRESSES = 32 };

/* From rank 0 to all others; they are the same program, so it goes as it is. */
struct invitation {
    struct crew_secret secret;
    char host[72];
    uint16_t port; /* as in sockaddr */
    uint16_t naddresses;
    struct invitation_address {
        uint16_t family;
        uint8_t bytes[16];
    } addresses[INVITATION_ADDRESSES];
};

_Static_assert(sizeof(struct invitation) <= sizeof(((struct exchange_message *)0)->data),
               "an invitation is one message");

/* What ranks above 0 do. */
_Noreturn void mpi_serve(const struct options *o, const struct invitation *v, uint32_t rank);

#endif
