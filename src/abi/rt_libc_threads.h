/* rt_libc_threads.h - what functions do: threads, work in the background, compilers
 *
 * A part of the table; rt_libc.h says what the columns mean. */
/* clang-format off */

ROW("w-tg", "-", CREATE, I(pthread_create))
ROW("wtg", "-", CREATE, I(thrd_create))
ROW("-w", "-", JOIN,
    I(pthread_join) I(thrd_join) I(pthread_timedjoin_np) I(pthread_tryjoin_np)
    I(pthread_clockjoin_np))
ROW("", "-", EXIT, I(pthread_exit))
ROW("-c", "-", PLAIN, I(pthread_once) I(call_once))
ROW("wt", "-", KEY, I(pthread_key_create) I(tss_create))
ROW("", "-", SET, I(pthread_setspecific) I(tss_set))
ROW("", "-", GET, I(pthread_getspecific) I(tss_get))
ROW("", "-", LOCK, I(pthread_mutex_lock) I(pthread_spin_lock) I(mtx_lock) I(pthread_rwlock_wrlock))
ROW("", "-", UNLOCK,
    I(pthread_mutex_unlock) I(pthread_spin_unlock) I(mtx_unlock) I(pthread_rwlock_unlock))
ROW("ttt", "-", ATEXIT, I(pthread_atfork) N(__register_atfork))
ROW("", "-", PLAIN,
    I(thrd_exit) I(thrd_yield) I(thrd_sleep) I(thrd_current) I(thrd_detach) I(thrd_equal)
    I(tss_delete) I(pthread_detach) I(pthread_self) I(pthread_equal) I(pthread_cancel)
    I(pthread_kill) I(pthread_yield) I(pthread_setcancelstate) I(pthread_setcanceltype)
    I(pthread_testcancel) I(pthread_setname_np) I(pthread_key_delete) I(pthread_getconcurrency)
    I(pthread_setconcurrency) I(pthread_setschedprio))
ROW("-w", "-", PLAIN, I(pthread_getname_np) I(pthread_getcpuclockid) I(pthread_getattr_np))
ROW("--r", "-", PLAIN, I(pthread_setaffinity_np) I(pthread_setschedparam))
ROW("--w", "-", PLAIN, I(pthread_getaffinity_np))
ROW("-ww", "-", PLAIN, I(pthread_getschedparam))
ROW("w", "-", PLAIN, I(pthread_getattr_default_np))
ROW("r", "-", PLAIN, I(pthread_setattr_default_np))
ROW("", "-", PLAIN,
    I(pthread_mutex_init) I(pthread_mutex_destroy) I(pthread_mutex_trylock)
    I(pthread_mutex_timedlock) I(pthread_mutex_clocklock) I(pthread_mutex_consistent)
    I(pthread_mutex_consistent_np) I(pthread_mutex_getprioceiling) I(pthread_mutex_setprioceiling)
    I(pthread_mutexattr_destroy) I(pthread_mutexattr_getkind_np)
    I(pthread_mutexattr_getprioceiling) I(pthread_mutexattr_getprotocol)
    I(pthread_mutexattr_getpshared) I(pthread_mutexattr_getrobust)
    I(pthread_mutexattr_getrobust_np) I(pthread_mutexattr_gettype) I(pthread_mutexattr_init)
    I(pthread_mutexattr_setkind_np) I(pthread_mutexattr_setprioceiling)
    I(pthread_mutexattr_setprotocol) I(pthread_mutexattr_setpshared)
    I(pthread_mutexattr_setrobust) I(pthread_mutexattr_setrobust_np) I(pthread_mutexattr_settype))
ROW("", "-", PLAIN,
    I(pthread_cond_init) I(pthread_cond_destroy) I(pthread_cond_signal) I(pthread_cond_broadcast)
    I(pthread_cond_wait) I(pthread_cond_timedwait) I(pthread_cond_clockwait)
    I(pthread_condattr_destroy) I(pthread_condattr_getclock) I(pthread_condattr_getpshared)
    I(pthread_condattr_init) I(pthread_condattr_setclock) I(pthread_condattr_setpshared))
ROW("", "-", PLAIN,
    I(pthread_rwlock_init) I(pthread_rwlock_destroy) I(pthread_rwlock_rdlock)
    I(pthread_rwlock_tryrdlock) I(pthread_rwlock_trywrlock) I(pthread_rwlock_timedrdlock)
    I(pthread_rwlock_timedwrlock) I(pthread_rwlock_clockrdlock) I(pthread_rwlock_clockwrlock)
    I(pthread_rwlockattr_destroy) I(pthread_rwlockattr_getkind_np)
    I(pthread_rwlockattr_getpshared) I(pthread_rwlockattr_init) I(pthread_rwlockattr_setkind_np)
    I(pthread_rwlockattr_setpshared))
ROW("", "-", PLAIN,
    I(pthread_spin_init) I(pthread_spin_destroy) I(pthread_spin_trylock) I(pthread_barrier_init)
    I(pthread_barrier_destroy) I(pthread_barrier_wait) I(pthread_barrierattr_destroy)
    I(pthread_barrierattr_getpshared) I(pthread_barrierattr_init)
    I(pthread_barrierattr_setpshared))
ROW("", "-", PLAIN,
    I(mtx_init) I(mtx_destroy) I(mtx_trylock) I(mtx_timedlock) I(cnd_init) I(cnd_destroy)
    I(cnd_signal) I(cnd_broadcast) I(cnd_wait) I(cnd_timedwait))
ROW("", "-", PLAIN,
    I(sem_init) I(sem_destroy) I(sem_post) I(sem_wait) I(sem_trywait) I(sem_timedwait)
    I(sem_clockwait) I(sem_getvalue) I(sem_close) I(sem_unlink))
ROW("r$", "s", PLAIN, I(sem_open))
ROW("", "-", PLAIN,
    I(pthread_attr_init) I(pthread_attr_destroy) I(pthread_attr_getaffinity_np)
    I(pthread_attr_getdetachstate) I(pthread_attr_getguardsize) I(pthread_attr_getinheritsched)
    I(pthread_attr_getschedparam) I(pthread_attr_getschedpolicy) I(pthread_attr_getscope)
    I(pthread_attr_getsigmask_np) I(pthread_attr_getstacksize) I(pthread_attr_setaffinity_np)
    I(pthread_attr_setdetachstate) I(pthread_attr_setguardsize) I(pthread_attr_setinheritsched)
    I(pthread_attr_setschedparam) I(pthread_attr_setschedpolicy) I(pthread_attr_setscope)
    I(pthread_attr_setsigmask_np) I(pthread_attr_setstacksize))
ROW("", "-", ANYTHING,
    I(pthread_attr_getstack) I(pthread_attr_getstackaddr) I(pthread_attr_setstack)
    I(pthread_attr_setstackaddr))
ROW("", "-", ANYTHING,
    N(__pthread_register_cancel) N(__pthread_unregister_cancel) N(__pthread_unwind_next)
    N(_pthread_cleanup_push) N(_pthread_cleanup_pop))

/* the library makes threads for these by itself, unseen by the runtime */
ROW("", "-", THREADS,
    N(aio_read) N(aio_read64) N(aio_write) N(aio_write64) N(aio_fsync) N(aio_fsync64) N(aio_error)
    N(aio_error64) N(aio_suspend) N(aio_suspend64) N(lio_listio) N(lio_listio64))

/* atomics of any size: libatomic */
ROW("-w0r0", "-", COPY, N(__atomic_store))
ROW("-r0w0", "-", COPY, N(__atomic_load))
ROW("-b0r0w0", "-", MIX, N(__atomic_exchange))
ROW("-b0b0r0", "-", MIX, N(__atomic_compare_exchange))
ROW("", "-", PLAIN, N(__atomic_is_lock_free) N(__atomic_feraiseexcept))
ROW("bb*", "-", MIX, P("__atomic_*") P("__sync_*"))

/* OpenMP: the runtime hears of what they order (runtime/openmp/openmp.c) */
ROW("", "-", OPENMP, P("__kmpc_*") P("omp_*") I(ompt_start_tool))

/* annotations, and the runtime's own */
ROW("", "-", PLAIN,
    Q("Annotate*") Q("WTFAnnotate*") Q("__tsan_*") Q("__heddle_*") Q("__sanitizer_unaligned_*")
    Q("heddle_traced.*"))

/* what else the headers of the C library and compilers call */
ROW("", "-", PLAIN,
    P("__*ti[23]") P("__*di[23]") P("__*[sdtx]f[23]") P("__float*") P("__fix*") P("__mul[sdtx]c3")
    P("__div[sdtx]c3") P("__morestack*"))
ROW("", "s", PLAIN, P("__ctype_*"))
ROW("", "-", ANYTHING,
    P("__*_chk") P("__isoc99_*") P("__isoc23_*") P("__libc_*") P("__sched_*") P("__xpg_*")
    P("_IO_*") P("__*sigsetjmp*") P("__xstat*") P("__lxstat*") P("__fxstat*") N(__tls_get_addr))

/* clang-format on */
