/* rt_libc_table.h - the table of rt_libc.h
 *
 * To be included, as often as one likes, where ROW, N, I, M, V, P and Q are defined; they are
 * not afterwards.
 */
#include "abi/rt_libc_string.h"

#include "abi/rt_libc_memory.h"

#include "abi/rt_libc_files.h"

#include "abi/rt_libc_system.h"

#include "abi/rt_libc_threads.h"

#include "abi/rt_libc_cxx.h"

#undef ROW
#undef N
#undef I
#undef M
#undef V
#undef P
#undef Q
