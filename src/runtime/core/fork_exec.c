/* fork_exec.c - fork and exec
 *
 * A forked child has the parent's memory but none of its other threads. It
 * gives the parent's ring up, forgets every thread's state, and starts a
 * recording of its own when it first records something; so a child that only
 * execs costs nothing.
 */
#include "runtime/production/prod.h"
#include "runtime/untraced/reach_log.h"
#include "runtime/steer/steer.h"

void rt_fork_before(void)
{
    rt_busy_begin();
    reach_fork_before();
    spin_lock(&rt_start_lock);
    patch_fork_before();
}

void rt_fork_after(bool child)
{
    patch_fork_after(child);
    spin_unlock(&rt_start_lock);
    if (child && rt_mode)
        prod_forked();
    if (child && rt.mode == MODE_ON) {
        rt.mode = rt_options.children ? MODE_RESTART : MODE_OFF;
        rt.forked = true;
        ring_close();
        thread_reset_tls(true);
        threads_forget();
        steer_forked();
    }
    reach_fork_after(child);
    rt_busy_end();
}

void rt_exec(bool begins)
{
    if (rt.mode == MODE_ON && rt.ring)
        __atomic_store_n(&rt.ring->exec, begins, __ATOMIC_SEQ_CST);
}
