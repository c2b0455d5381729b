/* stacks.h - call stacks of a report: recorded calls, with inlined ones expanded
 *
 * A site knows the function its code comes from and, where that was inlined,
 * the site of the call (its parent), and so on outwards. The chain of the
 * access stands in the function entered last, that of each call's site in the
 * function entered before it.
 */
#ifndef HEDDLE_REPORT_STACKS_H
#define HEDDLE_REPORT_STACKS_H

#include "report/findings.h"
#include "report/history.h"
#include "report/naming.h"

/* Frames a report keeps of a stack; deeper recursion is counted. */
enum { STACK_KEEP = 64 };

/* The stack of something at `site` in a thread inside these calls (outermost first); `missing`
 * calls were not kept. */
struct stack stack_make(struct naming *n, uint32_t site, const struct history_call *calls,
                        size_t ncalls, uint64_t missing);

/* The location of the first frame that is not the system's, or of the first that has one; NULL
 * where none has. */
const char *stack_own_location(const struct stack *s);

#endif
