/* rt_libc_cxx.h - what functions do: the C++ library
 *
 * A part of the table; rt_libc.h says what the columns mean. */
/* clang-format off */

/* locks and futures that libc++ keeps inside: what its own mutexes guard there is not seen
   (libstdc++ has all that in its headers) */
ROW("", "-", UNKNOWN,
    P("_ZNSt3__119__shared_mutex_base*") P("_ZNSt3__118shared_timed_mutex*")
    P("_ZNSt3__111timed_mutex*") P("_ZNSt3__121recursive_timed_mutex*")
    P("_ZNSt3__117__assoc_sub_state*") P("_ZNSt3__17promiseIvE*") P("_ZNSt3__16futureIvE*")
    P("_ZNSt3__115__thread_struct*_at_thread_exit*"))

/* new and delete */
ROW("", "h0", PLAIN,
    I(_Znwm) I(_Znam) I(_ZnwmRKSt9nothrow_t) I(_ZnamRKSt9nothrow_t) I(_ZnwmSt11align_val_t)
    I(_ZnamSt11align_val_t) I(_ZnwmSt11align_val_tRKSt9nothrow_t)
    I(_ZnamSt11align_val_tRKSt9nothrow_t))
ROW("f", "-", PLAIN,
    I(_ZdlPv) I(_ZdaPv) I(_ZdlPvm) I(_ZdaPvm) I(_ZdlPvSt11align_val_t) I(_ZdlPvmSt11align_val_t)
    I(_ZdaPvSt11align_val_t) I(_ZdaPvmSt11align_val_t) I(_ZdlPvRKSt9nothrow_t)
    I(_ZdaPvRKSt9nothrow_t) I(_ZdlPvSt11align_val_tRKSt9nothrow_t)
    I(_ZdaPvSt11align_val_tRKSt9nothrow_t))
ROW("f", "-", PLAIN, Q("_ZdlPv*") Q("_ZdaPv*"))

/* exceptions */
ROW("", "H", PLAIN, I(__cxa_allocate_exception) I(__cxa_allocate_dependent_exception))
ROW("", "-", PLAIN,
    I(__cxa_free_exception) I(__cxa_free_dependent_exception) I(__cxa_rethrow) I(__cxa_end_catch)
    I(__cxa_guard_acquire) I(__cxa_guard_release) I(__cxa_guard_abort) I(__cxa_pure_virtual)
    I(__cxa_deleted_virtual) I(__cxa_bad_cast) I(__cxa_bad_typeid)
    I(__cxa_throw_bad_array_new_length) N(__gxx_personality_v0) N(__gcc_personality_v0)
    N(__clang_call_terminate) N(_ZSt9terminatev) I(__cxa_uncaught_exceptions)
    I(__cxa_call_unexpected) I(__cxa_call_terminate))
ROW("", "-", THROW,
    I(__cxa_throw) I(_Unwind_Resume) I(_Unwind_Resume_or_Rethrow) I(_Unwind_RaiseException))
ROW("", "-", CATCH, I(__cxa_begin_catch) I(__cxa_get_exception_ptr))
ROW("r", "0", PLAIN, N(__dynamic_cast))
ROW("r$r$", "-", PLAIN, P("_ZSt[0-9]*__throw_*"))

/* nodes of lists and trees */
ROW("r", "-", REACH,
    N(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base)
    N(_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base)
    N(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base)
    N(_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base))
ROW("-bbb", "-", LINK, P("_ZSt29_Rb_tree_insert_and_rebalance*"))
ROW("bb", "-", REACH, P("_ZSt28_Rb_tree_rebalance_for_erase*"))
ROW("bb", "-", LINK, P("_ZNSt8__detail15_List_node_base7_M_hook*"))
ROW("bb", "-", USES, P("_ZNSt8__detail15_List_node_base*"))
ROW("b", "-", PLAIN, P("_ZNKSt8__detail20_Prime_rehash_policy*"))

/* threads */
ROW("w", "-", CREATE_CXX,
    N(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE))
ROW("b", "-", JOIN, N(_ZNSt6thread4joinEv))
ROW("b", "-", PLAIN, N(_ZNSt6thread6detachEv))
ROW("", "-", PLAIN,
    N(_ZNSt6thread20hardware_concurrencyEv) P("_ZNSt18condition_variable*")
    P("_ZNSt22condition_variable_any*") P("_ZNSt6thread6_StateD*") P("_ZNSt6chrono*")
    P("_ZNKSt6chrono*"))

/* exceptions' classes: they copy the text */
ROW("", "-", PLAIN, P("_ZNSt9exceptionD*") P("_ZNSt9bad_allocD*") P("_ZNSt8bad_castD*"))
ROW("", "s", PLAIN, P("_ZNKSt9exception4whatEv") P("_ZNKSt*_error4whatEv"))
ROW("", "-", USES,
    P("_ZNSt9exception*") P("_ZNKSt9exception*") P("_ZNSt*_errorC*") P("_ZNSt*_errorD*")
    P("_ZNSt11logic_error*") P("_ZNSt13runtime_error*") P("_ZNSt9bad_alloc*") P("_ZNSt3_V2*")
    P("_ZNKSt3_V2*"))

/* strings */
ROW("bb*", "-", TEXT, P("_ZNSt7__cxx1112basic_stringI[cw]*"))
ROW("rr*", "-", TEXT, P("_ZNKSt7__cxx1112basic_stringI[cw]*"))

/* streams: what is written to one may be read from another */
ROW("", "-", PLAIN, N(_ZNSt8ios_base4InitC1Ev) N(_ZNSt8ios_base4InitD1Ev))
ROW("-s2", "0", PLAIN, P("_ZNSo5writeEPKcl*") P("_ZNSo8_M_writeEPKcl*"))
ROW("-v2", "0", PLAIN, P("_ZNSi4readEPcl*"))
ROW("-c", "0", PLAIN, P("_ZNSolsEPF*") P("_ZNSirsEPF*"))
ROW("--", "0", PLAIN,
    P("_ZNSolsE[a-z]") P("_ZNSolsEPKv") P("_ZNSo9_M_insert*") P("_ZNSo3putEc") P("_ZNSo5flushEv")
    P("_ZSt4endl*") P("_ZSt4ends*") P("_ZSt5flush*"))
ROW("-w", "0", PLAIN, P("_ZNSirsER[a-oq-z]"))
ROW("-r$", "0", PLAIN,
    P("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PK[ah]*")
    P("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc"))
ROW("-", "0", PLAIN, P("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_[a-z]"))
ROW("-s2", "0", PLAIN,
    P("_ZSt16__ostream_insertIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_PKS3_l"))
ROW("", "-", ANYTHING,
    P("_ZNSt6locale*") P("_ZNSt8ios_base*") P("_ZNSt9basic_ios*4initE*")
    P("_ZNSt9basic_ios*5rdbufE*") P("_ZNSt9basic_ios*3tieE*") P("_ZNSt9basic_ios*5imbueE*")
    P("_ZNSt9basic_ios*4moveE*") P("_ZNSt9basic_ios*4swapE*") P("_ZNSt9basic_iosI*C[12]E*")
    P("_ZNS[oi]C[12]E*") P("_ZNSt*6setbufE*") P("_ZNSt*swapE*") P("_ZNSt15basic_streambuf*imbue*")
    P("_ZNSo*swap*") P("_ZNSi*swap*"))
ROW("", "-", ANYTHING,
    P("_ZNSolsEPSt15basic_streambuf*") P("_ZNSirsE*") P("_ZSt*set_new_handler*")
    P("_ZSt*set_terminate*") P("_ZSt*set_unexpected*") P("_ZSt*rethrow_exception*")
    P("_ZSt*current_exception*"))

/* what only uses what it is given */
ROW("", "-", USES,
    P("_ZNSt7__cxx11*stringstream*") P("_ZNSt7__cxx11*stringbuf*")
    P("_ZNSt7__cxx1112basic_string*") P("_ZNKSt7__cxx1112basic_string*") P("_ZNSo*") P("_ZNSi*")
    P("_ZNKSo*") P("_ZNKSi*") P("_ZSt*") P("_ZNSt9basic_ios*") P("_ZNKSt9basic_ios*")
    P("_ZNKSt6locale*") P("_ZNKSt8__detail*") P("_ZNSt12__basic_file*") P("_ZNSt13basic_filebuf*")
    P("_ZNSt14basic_*stream*") P("_ZNSt15basic_streambuf*") P("_ZN10__cxxabiv1*")
    P("_ZNSt10__num_base*") P("_ZNKSt5ctype*") P("_ZTh*_NSt*"))

/* all else of the C++ library may keep what it is given */
ROW("", "-", ANYTHING,
    P("_ZNSt*") P("_ZNKSt*") P("_ZNS[absiod]*") P("_ZNKS[absiod]*") P("_ZN9__gnu_cxx*")
    P("_ZNK9__gnu_cxx*") P("__gxx_*") P("__gcc_*") P("_ZGTt*"))
ROW("", "-", ANYTHING, Q("__cxa_*") Q("_Unwind_*") Q("_Zn[wa]*") Q("_Zd[la]*"))

/* clang-format on */
