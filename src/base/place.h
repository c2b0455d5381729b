/* place.h - files that belong to us: the runtime, the drivers, modules, the command itself
 *
 * Found from where the running executable is, so a build directory, an
 * installation and a moved installation all work.
 */
#ifndef HEDDLE_BASE_PLACE_H
#define HEDDLE_BASE_PLACE_H

/* The running executable; owned by the caller, NULL where /proc does not say. */
char *place_self(void);
/* "libheddle-rt.so", "heddle-cc" ...: beside the executable, else in the library folder of the
 * same prefix. Owned by the caller, NULL where it is in neither. */
char *place_find(const char *name);

#endif
