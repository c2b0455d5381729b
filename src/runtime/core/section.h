/* section.h - the first thing that every file of the runtime includes (-include, meson.build)
 *
 * The runtime's code has a section of its own: a function there is known to do what it records,
 * also when it is called through a pointer (statics.c), and the writer does not read its machine
 * code (symbol/machine.h).
 */
#ifdef __clang__
#pragma clang section text = "heddle_text"
#endif
