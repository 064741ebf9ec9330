/* Synchronisation that ThreadSanitizer does not see. It is linked into the instrumented programs, so
 * that no report has to be suppressed by the name of a function. */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The interface of ThreadSanitizer. */
enum order { RELAXED = 0, RELEASE = 3 };
void __tsan_acquire(void *word);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
long __real___tsan_atomic64_fetch_sub(volatile long *word, long subtrahend, int order);
void __real___tsan_atomic_thread_fence(int order);

/* The last drop of an Arc is ordered by a fence, which ThreadSanitizer does not model:
 * `fetch_sub(1, Release)` and, if the count is then 0, `fence(Acquire)`. The linker sends these two
 * calls of instrumented code through here (`--wrap`). The fence acquires the count that the same
 * thread has just brought to 0. It does that in Rust's memory model too, so no race is hidden. */

/* The count that this thread brought to 0 by its last subtraction, or null. */
static __thread volatile long *zeroed;

long __wrap___tsan_atomic64_fetch_sub(volatile long *word, long subtrahend, int order) {
    long before = __real___tsan_atomic64_fetch_sub(word, subtrahend, order);
    zeroed = before == subtrahend ? word : 0;
    return before;
}

void __wrap___tsan_atomic_thread_fence(int order) {
    __real___tsan_atomic_thread_fence(order);
    if (zeroed && order != RELAXED && order != RELEASE)
        __tsan_acquire((void *)zeroed);
    zeroed = 0;
}

/* The threads of libtest pass the results of tests to the main thread by a channel of std, which is
 * compiled without ThreadSanitizer. The main thread of such a program runs nothing else, no code of
 * gmp either, so its accesses are ignored. `it` is the only program with libtest that runs here. */

static __thread int ignores;

static void end_ignoring(void) {
    if (ignores) {
        ignores = 0;
        __tsan_ignore_thread_end();
    }
}

__attribute__((constructor)) static void ignore_libtest(void) {
    if (strncmp(program_invocation_short_name, "it-", 3) == 0) {
        __tsan_ignore_thread_begin();
        ignores = 1;
        atexit(end_ignoring);
    }
}
