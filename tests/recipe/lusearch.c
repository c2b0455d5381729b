/* lusearch - queries by several threads over one index whose parts are loaded when needed
 *
 * A reduction of the text search of the DaCapo suite: terms point to lists of documents. A searcher
 * takes a reference of the index if that is open; norms and the cache of terms are loaded by the
 * query that needs them, without a lock; counts, the best score and deletions are common to all.
 * The last reference closes the files. A maintainer deletes a document and reopens the index, which
 * throws the caches away. Observed: the searchers run one after another, then the index is
 * reopened. Marks are variables; the lists are made before the threads and only read.
 */
// find mc: refs refs
// find recipe-s: hits hits
// find recipe-s: queries queries
// find recipe-s: files files
// find recipe-s: gen gen
// find recipe: errors errors
// find recipe: stale stale
// vars: refs files errors norms values term postings thits hits queries best doc many gen
// vars: stale deleted deletions skipped
// never: index index
// stdout: 15 hits of 6 queries, best 9, 0 stale, 0 skipped, 0 errors, mean 2
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, TERMS = 4, PER_TERM = 3, DOCUMENTS = 6 };

static int index_of[TERMS][PER_TERM];
static int references = 1, files = 2, errors;
static int norms_loaded, norms[DOCUMENTS];
static int last_term = -1, last_postings, term_hits;
static int queries, hits, best_score, best_document, too_many;
static int generation, stale;
static int deletions, deleted[DOCUMENTS], skipped;
static int found[THREADS], mean;

static int take_reference(void)
{
    if (references <= 0 || files == 0) { // [refs] [files]
        errors++;                        // [errors]
        return 0;
    }
    references++; // [refs]
    return 1;
}

static void drop_reference(void)
{
    references--;        // [refs]
    if (references == 0) // [refs]
        files = 0;       // [files]
}

static void load_norms(void)
{
    if (norms_loaded) // [norms]
        return;
    for (int i = 0; i < DOCUMENTS; i++)
        norms[i] = 1 + i % 3; // [values]
    norms_loaded = 1;         // [norms]
}

static int postings_of(int term)
{
    if (last_term == term) {  // [term]
        term_hits++;          // [thits]
        return last_postings; // [postings]
    }
    last_term = term;                    // [term]
    last_postings = PER_TERM - term % 2; // [postings]
    return PER_TERM - term % 2;
}

static void collect(int me, int document, int score)
{
    if (deletions > 0 && deleted[document]) { // [deletions] [deleted]
        skipped++;                            // [skipped]
        return;
    }
    found[me]++;
    hits++;                       // [hits]
    if (score > best_score) {     // [best]
        best_score = score;       // [best]
        best_document = document; // [doc]
    }
}

static void search(int me, int term)
{
    int mine = generation; // [gen]

    load_norms();
    for (int i = 0, n = postings_of(term); i < n; i++) {
        int document = index_of[term][i]; // [index]

        collect(me, document, norms[document] * (PER_TERM - i)); // [values]
    }
    queries++;              // [queries]
    if (mine != generation) // [gen]
        stale++;            // [stale]
    if (hits > 20)          // [hits]
        too_many++;         // [many]
}

static void *searcher(void *arg)
{
    int me = *(int *)arg;

    if (!take_reference())
        return NULL;
    for (int i = 0; i < 2; i++)
        search(me, (me + i) % TERMS);
    drop_reference();
    return NULL;
}

static void *maintain(void *arg)
{
    if (queries > 0)                // [queries]
        mean = hits / queries;      // [hits] [queries]
    if (best_score > 2) {           // [best]
        deleted[best_document] = 1; // [doc] [deleted]
        deletions++;                // [deletions]
    }
    generation++;     // [gen]
    norms_loaded = 0; // [norms]
    last_term = -1;   // [term]
    drop_reference();
    return arg;
}

int main(void)
{
    int numbers[THREADS] = { 0, 1, 2 };
    pthread_t t[THREADS + 1];
    int n = 0;

    for (int i = 0; i < TERMS; i++)
        for (int k = 0; k < PER_TERM; k++)
            index_of[i][k] = (i * 5 + k * 2) % DOCUMENTS; // [index]
    for (; n < THREADS; n++) {
        pthread_create(&t[n], NULL, searcher, &numbers[n]);
        usleep(8000);
    }
    pthread_create(&t[n++], NULL, maintain, NULL);
    while (n > 0)
        pthread_join(t[--n], NULL);
    printf("%d hits of %d queries, best %d, %d stale, %d skipped, %d errors, mean %d\n", hits,
           queries, best_score, stale, skipped, errors, mean);
    return 0;
}
