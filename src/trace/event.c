/* event.c - names and classes of operations */
#include "trace/event.h"

const struct op_info op_table[OP_COUNT] = {
    [OP_READ] = { "read", "r", CLASS_ACCESS, true, false },
    [OP_WRITE] = { "write", "w", CLASS_ACCESS, false, true },
    [OP_LOAD] = { "atomic-load", "load", CLASS_ATOMIC, true, false },
    [OP_STORE] = { "atomic-store", "store", CLASS_ATOMIC, false, true },
    [OP_RMW] = { "atomic-rmw", "rmw", CLASS_ATOMIC, true, true },
    [OP_FENCE] = { "fence", "fence", CLASS_FENCE, false, false },
    [OP_ACQUIRE] = { "acquire", "acq", CLASS_LOCK, false, false },
    [OP_RELEASE] = { "release", "rel", CLASS_LOCK, false, false },
    [OP_ACQUIRE_SHARED] = { "acquire-shared", "acqs", CLASS_LOCK, false, false },
    [OP_RELEASE_SHARED] = { "release-shared", "rels", CLASS_LOCK, false, false },
    [OP_FORK] = { "fork", "fork", CLASS_THREAD, false, false },
    [OP_JOIN] = { "join", "join", CLASS_THREAD, false, false },
    [OP_BEGIN] = { "begin", "begin", CLASS_THREAD, false, false },
    [OP_END] = { "end", "end", CLASS_THREAD, false, false },
    [OP_WAIT] = { "wait", "wait", CLASS_COND, false, false },
    [OP_SIGNAL] = { "signal", "signal", CLASS_COND, false, false },
    [OP_BROADCAST] = { "broadcast", "broadcast", CLASS_COND, false, false },
    [OP_BARRIER_ENTER] = { "barrier-enter", "enterb", CLASS_BARRIER, false, false },
    [OP_BARRIER_LEAVE] = { "barrier-leave", "leaveb", CLASS_BARRIER, false, false },
    [OP_SEM_POST] = { "semaphore-post", "post", CLASS_SEM, false, false },
    [OP_SEM_WAIT] = { "semaphore-wait", "semwait", CLASS_SEM, false, false },
    [OP_ONCE] = { "once", "once", CLASS_ONCE, false, false },
    [OP_BEFORE] = { "happens-before", "before", CLASS_ANNOTATION, false, false },
    [OP_AFTER] = { "happens-after", "after", CLASS_ANNOTATION, false, false },
    [OP_ALLOC] = { "alloc", "alloc", CLASS_MEMORY, false, false },
    [OP_FREE] = { "free", "free", CLASS_MEMORY, false, true },
    [OP_CALL] = { "call", "call", CLASS_CALL, false, false },
    [OP_RETURN] = { "return", "ret", CLASS_CALL, false, false },
    [OP_BRANCH] = { "branch", "branch", CLASS_BRANCH, false, false },
    [OP_ENTER] = { "enter", "enter", CLASS_STACK, false, false },
    [OP_EXIT] = { "exit", "exit", CLASS_STACK, false, false },
};

const char *const order_names[ORDER_COUNT] = { "", "rlx", "con", "acq", "rel", "ar", "sc" };
