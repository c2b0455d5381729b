/* exchange.h - what heddle and its helper heddle-mpi say to each other over two pipes */
#ifndef HEDDLE_MPI_EXCHANGE_H
#define HEDDLE_MPI_EXCHANGE_H

#include <stdint.h>

#define EXCHANGE_MAGIC UINT32_C(0x31504d48) /* "HMP1" */

struct exchange_place {
    uint32_t magic;
    uint32_t rank, size; /* of all processes */
    uint32_t neighbours; /* processes on this machine, with this one */
};

struct exchange_message {
    uint32_t bytes;
    uint8_t data[4092];
};

#endif
