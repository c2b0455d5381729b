/* xalan - transformations by several threads that share a pool of strings and a table of documents
 *
 * A reduction of the XSLT processor of the DaCapo suite: each thread transforms documents; names
 * are interned in a common pool, looked up without the lock and added with it; the table of
 * documents hands out ids under a lock and grows when it is full, which threads look at without it.
 * Readers are kept for reuse: one that is marked free is taken, without a lock. The error listener
 * counts warnings and stops the transformation at too many. Observed: thread after thread. Marks
 * are variables. The pool: entries are written under the lock below a size that is only raised
 * behind them, so who reads the size reads entries that are there: no race on names. The size
 * itself is written under the lock and read without.
 */
// find mc: size size?
// find mc: made made
// find recipe: compiled compiled
// find recipe: templates templates
// vars: hits free made warn stop
// vars: slow compiled templates uses
// true: size size?
// true: limit limit?
// never: ids ids
// never: size size
// never: name name
// stdout: 8 names, 4 hits, 3 documents, limit 4, 2 readers, 3 warnings
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, WORDS = 4, POOL = 16, READERS = 2, MANY = 3 };

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER, ids_lock = PTHREAD_MUTEX_INITIALIZER;
static int names[POOL], pool_size;
static int pool_hits;
static int next_id, documents[8]; /* guarded by ids_lock */
static int limit = 2, slow;       /* of the table */
static int in_use[READERS], readers_made;
static int warnings, stopped;
static int compiled, templates, uses; /* the stylesheet */
static int output[THREADS];

static int intern(int word)
{
    int n = pool_size; // [size?]

    for (int i = 0; i < n; i++)
        if (names[i] == word) { // [name]
            pool_hits++;        // [hits]
            return i;
        }
    pthread_mutex_lock(&pool_lock);
    n = pool_size; // [size]
    if (n < POOL) {
        names[n] = word;   // [name]
        pool_size = n + 1; // [size]
    }
    pthread_mutex_unlock(&pool_lock);
    return n;
}

static int new_document(int content)
{
    int id;

    pthread_mutex_lock(&ids_lock);
    id = next_id++;          // [ids]
    documents[id] = content; // [ids]
    if (id >= limit)         // [limit]
        limit *= 2;          // [limit]
    pthread_mutex_unlock(&ids_lock);
    return id;
}

static int take_reader(void)
{
    if (readers_made < READERS) // [made]
        return readers_made++;  // [made]
    for (int i = 0; i < READERS; i++)
        if (!in_use[i]) {  // [free]
            in_use[i] = 1; // [free]
            return i;
        }
    return READERS;
}

/* The stylesheet is compiled by the first who needs it. */
static int use_stylesheet(void)
{
    if (!compiled) {   // [compiled]
        templates = 3; // [templates]
        compiled = 1;  // [compiled]
    }
    uses++;           // [uses]
    return templates; // [templates]
}

static int warn(void)
{
    warnings++;          // [warn]
    if (warnings > MANY) // [warn]
        stopped = 1;     // [stop]
    return stopped;      // [stop]
}

static void *transform(void *arg)
{
    int me = *(int *)arg, reader = take_reader(), id;

    if (use_stylesheet() == 0)
        return NULL;
    for (int i = 0; i < WORDS; i++) {
        int name = intern(i * 3 + me % 2);

        output[me] += name;
        if (name % 4 == 3 && warn())
            return NULL;
    }
    id = new_document(output[me]);
    if (id + 1 > limit) // [limit?]
        slow++;         // [slow]
    if (reader < READERS)
        in_use[reader] = 0; // [free]
    return NULL;
}

int main(void)
{
    int numbers[THREADS] = { 0, 1, 2 };
    pthread_t t[THREADS];

    for (int i = 0; i < THREADS; i++) {
        pthread_create(&t[i], NULL, transform, &numbers[i]);
        usleep(10000);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%d names, %d hits, %d documents, limit %d, %d readers, %d warnings\n", pool_size,
           pool_hits, next_id, limit, readers_made, warnings);
    return 0;
}
