/* sunflow - buckets of a picture by several threads, with caches, a display and a progress bar
 *
 * A reduction of the renderer of the DaCapo suite: threads take buckets under a lock. Geometry,
 * texture and photons are prepared by whoever first needs them (not locked: "if (!built)"); the
 * irradiance cache gives what it has, or is filled. Each thread tells the display where it works
 * and the user interface how far it is; a user who cancels sets a flag. Statistics are common. The
 * display shows what is there if there is anything. Observed: one thread has prepared and rendered
 * when the others come; the display refreshes last. Marks are variables; buckets and the picture's
 * cells are guarded, or apart. All else is used without a lock by all.
 */
// find mc: dirty dirty
// find recipe-s: rays rays
// find recipe-s: marked marked
// find recipe: tri tri
// find recipe: width width
// vars: built tri bounds texture width texels photons power cached weight hits misses rays
// vars: shadow deep marked dirty percent cancel dropped finished
// never: bucket bucket
// never: pixel pixel
// slow: recipe
// stdout: sum 474, 24 rays, 96 %, shown 24, 0 dropped
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, BUCKETS = 6, SAMPLES = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_bucket; /* guarded by lock */
static int built, triangles, bounds;
static int texture, width, texels[4];
static int photons, power;
static int cached, weight, cache_hits, cache_misses;
static int rays, shadow_rays, deepest;                           /* statistics */
static int percent, marked, dirty, cancelled, dropped, finished; /* display, user interface */
static int picture[BUCKETS];
static int bar[8];

static int take_bucket(void)
{
    int b;

    pthread_mutex_lock(&lock);
    b = next_bucket++; // [bucket]
    pthread_mutex_unlock(&lock);
    return b;
}

static void prepare(void)
{
    if (!built) {       // [built]
        triangles = 12; // [tri]
        bounds = 30;    // [bounds]
        built = 1;      // [built]
    }
}

static int lookup_texture(int u)
{
    if (!texture) { // [texture]
        width = 4;  // [width]
        for (int i = 0; i < 4; i++)
            texels[i] = 3 * i; // [texels]
        texture = 1;           // [texture]
    }
    return texels[u % (width ? width : 1)]; // [width] [texels]
}

static int global_light(int bucket)
{
    if (photons == 0) { // [photons]
        power = 5;      // [power]
        photons = 40;   // [photons]
    }
    if (cached > 0 && bucket % 2) { // [cached]
        cache_hits++;               // [hits]
        return weight / cached;     // [weight] [cached]
    }
    cache_misses++;  // [misses]
    weight += power; // [weight] [power]
    cached++;        // [cached]
    return power;    // [power]
}

static int sample(int bucket, int i)
{
    int depth = (bucket * 7 + i * 3) % 5;

    rays++;                                           // [rays]
    if (depth > deepest)                              // [deep]
        deepest = depth;                              // [deep]
    if ((bucket * 13 + i * 5) % 31 < bounds) {        // [bounds]
        shadow_rays++;                                // [shadow]
        return depth + triangles + lookup_texture(i); // [tri]
    }
    return depth;
}

static void update_display(int bucket)
{
    marked = bucket;              // [marked]
    dirty++;                      // [dirty]
    if (percent < 100)            // [percent]
        percent += 100 / BUCKETS; // [percent]
}

static void *render(void *arg)
{
    int b;

    prepare();
    while ((b = take_bucket()) < BUCKETS) {
        int sum = 0;

        if (cancelled) { // [cancel]
            dropped++;   // [dropped]
            break;
        }
        for (int i = 0; i < SAMPLES; i++)
            sum += sample(b, i);
        picture[b] = sum + global_light(b); // [pixel]
        update_display(b);
    }
    finished++; // [finished]
    return arg;
}

static void *refresh(void *arg)
{
    if (dirty > 0) {          // [dirty]
        bar[0] = rays;        // [rays]
        bar[1] = shadow_rays; // [shadow]
        bar[2] = deepest;     // [deep]
        bar[3] = marked;      // [marked]
        dirty = 0;            // [dirty]
    }
    if (cache_hits + cache_misses > 0)       // [hits] [misses]
        bar[4] = cached;                     // [cached]
    if (finished < THREADS && percent >= 50) // [finished] [percent]
        cancelled = 1;                       // [cancel]
    return arg;
}

int main(void)
{
    pthread_t t[THREADS + 1];
    int n = 0, sum = 0;

    for (; n < THREADS; n++) {
        pthread_create(&t[n], NULL, render, NULL);
        usleep(8000);
    }
    pthread_create(&t[n++], NULL, refresh, NULL);
    while (n > 0)
        pthread_join(t[--n], NULL);
    for (int i = 0; i < BUCKETS; i++)
        sum += picture[i];
    printf("sum %d, %d rays, %d %%, shown %d, %d dropped\n", sum, rays, percent, bar[0], dropped);
    return 0;
}
