/* libc_names.c - the modelled libc functions under their own names (libheddle-rt-libc)
 *
 * For objects of compilers that know nothing of Heddle (gcc -fsanitize=thread
 * leaves memcpy and all of libc to calls), and for the untraced libraries of such
 * programs. The definitions are the same text as the plugin's (libc.h); `where`
 * is the caller's address. What fd.c interposes anyway it records itself, buffers
 * included, when it finds __heddle_names_linked.
 *
 * They must not disturb the runtime, whose own calls land here, too: while busy
 * nothing is recorded, and libc's function is called. dlsym, which finds that,
 * calls none of these through the program's symbols.
 */
#define LIBC_NAMES
#define __NO_INLINE__ 1 /* the headers define some of them inline, else */
#ifndef __clang__       /* reads what is only to be written: its address */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "runtime/libc/libc_export.h"
#include "runtime/libc/libc.h"

EXPORT char __heddle_names_linked = 1;

#include "runtime/libc/libc_hidden.c"
#include "runtime/libc/libc_memory.c"
#include "runtime/libc/libc_nss.c"
#include "runtime/libc/libc_number.c"
#include "runtime/libc/libc_printf.c"
#include "runtime/libc/libc_scanf.c"
#include "runtime/libc/libc_stdio.c"
#include "runtime/libc/libc_string.c"
#include "runtime/libc/libc_system.c"
