/* rt_libc_table.h - the table of rt_libc.h
 *
 * To be included, as often as one likes, where ROW, N, I, M, V, P and Q are defined; they are
 * not afterwards.
 */
#include "base/rt_libc_string.h"

#include "base/rt_libc_memory.h"

#include "base/rt_libc_files.h"

#include "base/rt_libc_system.h"

#include "base/rt_libc_threads.h"

#include "base/rt_libc_cxx.h"

#undef ROW
#undef N
#undef I
#undef M
#undef V
#undef P
#undef Q
