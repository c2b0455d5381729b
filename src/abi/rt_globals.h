/* rt_globals.h - limits of a file of --globals: heddle checks them, the runtime relies on nothing
 */
#ifndef HEDDLE_ABI_RT_GLOBALS_H
#define HEDDLE_ABI_RT_GLOBALS_H

enum { GLOBALS_RULES = 256, GLOBALS_BYTES = 1 << 16 };

#endif
