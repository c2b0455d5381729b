/* z3_session.c - one question after the other to the SMT solver Z3
 *
 * Settings, as measured for ordering questions (docs/design/z3.md): the plain
 * SMT core without tactics (mk_simple_solver), no automatic configuration,
 * the Bellman-Ford solver for difference logic (arith.solver 1: 3 to 7 times
 * faster than all others but 4), decisions by relevancy (case_split 3: up to
 * 1.7 times, on some kinds nothing). They are global to the library, so they
 * are set once.
 *
 * Contexts are not reference counted: what a question made stays until its
 * context goes. Making one costs about 1 ms, as much as a small question, so
 * it goes only after many clauses.
 */
#include "solve/z3_session.h"

#include <pthread.h>

/* Some 100 MB of expressions. */
enum { CLAUSES_PER_CONTEXT = 200000 };

static pthread_once_t configured = PTHREAD_ONCE_INIT;

static void configure(void)
{
    Z3_global_param_set("auto_config", "false");
    Z3_global_param_set("smt.arith.solver", "1");
    Z3_global_param_set("smt.case_split", "3");
}

/* Errors (out of memory, for one) show as an unknown answer. */
static void ignore_error(Z3_context c, Z3_error_code code)
{
    (void)c;
    (void)code;
}

static void open_context(struct z3 *z)
{
    Z3_config config = Z3_mk_config();

    z->context = Z3_mk_context(config);
    Z3_del_config(config);
    Z3_set_error_handler(z->context, ignore_error);
    z->yes = Z3_mk_true(z->context);
    z->no = Z3_mk_false(z->context);
    z->boolean = Z3_mk_bool_sort(z->context);
    z->integer = Z3_mk_int_sort(z->context);
    z->asserted = 0;
}

static void close_solver(struct z3 *z)
{
    if (z->model)
        Z3_model_dec_ref(z->context, z->model);
    if (z->solver)
        Z3_solver_dec_ref(z->context, z->solver);
    z->model = NULL;
    z->solver = NULL;
}

void z3_init(struct z3 *z)
{
    pthread_once(&configured, configure);
    *z = (struct z3){ 0 };
    open_context(z);
}

void z3_release(struct z3 *z)
{
    close_solver(z);
    Z3_del_context(z->context);
}

void z3_begin(struct z3 *z)
{
    close_solver(z);
    if (z->asserted > CLAUSES_PER_CONTEXT) {
        Z3_del_context(z->context);
        open_context(z);
    }
    z->solver = Z3_mk_simple_solver(z->context);
    Z3_solver_inc_ref(z->context, z->solver);
}

/* Without ctrl_c=false Z3 would take the signal away from the command, and threads would swap its
 * handler under each other. */
static void set_limits(struct z3 *z, double seconds)
{
    Z3_context c = z->context;
    Z3_params p = Z3_mk_params(c);
    double ms = seconds * 1000;

    Z3_params_inc_ref(c, p);
    Z3_params_set_bool(c, p, Z3_mk_string_symbol(c, "ctrl_c"), false);
    if (seconds > 0 && ms < 1e9)
        Z3_params_set_uint(c, p, Z3_mk_string_symbol(c, "timeout"), ms < 1 ? 1 : (unsigned)ms);
    Z3_solver_set_params(c, z->solver, p);
    Z3_params_dec_ref(c, p);
}

Z3_lbool z3_check(struct z3 *z, double seconds)
{
    Z3_lbool answer;

    set_limits(z, seconds);
    if (Z3_get_error_code(z->context) != Z3_OK)
        return Z3_L_UNDEF;
    answer = Z3_solver_check(z->context, z->solver);
    if (answer == Z3_L_TRUE) {
        z->model = Z3_solver_get_model(z->context, z->solver);
        Z3_model_inc_ref(z->context, z->model);
    }
    return Z3_get_error_code(z->context) == Z3_OK ? answer : Z3_L_UNDEF;
}

bool z3_is_true(const struct z3 *z, Z3_ast boolean)
{
    Z3_ast value = NULL;

    return Z3_model_eval(z->context, z->model, boolean, true, &value) &&
           Z3_get_bool_value(z->context, value) == Z3_L_TRUE;
}

int64_t z3_number(const struct z3 *z, Z3_ast integer)
{
    Z3_ast value = NULL;
    int64_t number = 0;

    if (Z3_model_eval(z->context, z->model, integer, true, &value))
        Z3_get_numeral_int64(z->context, value, &number);
    return number;
}

/* ---- expressions ---- */

Z3_ast z3_bool(struct z3 *z, uint32_t name)
{
    return Z3_mk_const(z->context, Z3_mk_int_symbol(z->context, (int)name), z->boolean);
}

Z3_ast z3_int(struct z3 *z, uint32_t name)
{
    return Z3_mk_const(z->context, Z3_mk_int_symbol(z->context, (int)name), z->integer);
}

Z3_ast z3_not(struct z3 *z, Z3_ast x)
{
    return x == z->yes ? z->no : x == z->no ? z->yes : Z3_mk_not(z->context, x);
}

Z3_ast z3_and(struct z3 *z, Z3_ast x, Z3_ast y)
{
    if (x == z->no || y == z->no)
        return z->no;
    if (x == z->yes || y == z->yes)
        return x == z->yes ? y : x;
    return Z3_mk_and(z->context, 2, (Z3_ast[]){ x, y });
}

void z3_clause(struct z3 *z, Z3_ast *lits, size_t n)
{
    unsigned kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (lits[i] == z->yes)
            return;
        if (lits[i] != z->no)
            lits[kept++] = lits[i];
    }
    z->asserted++;
    Z3_solver_assert(z->context, z->solver,
                     kept == 0   ? z->no
                     : kept == 1 ? lits[0]
                                 : Z3_mk_or(z->context, kept, lits));
}
