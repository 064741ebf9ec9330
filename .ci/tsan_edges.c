/* Synchronisation and accesses of std, which is compiled without ThreadSanitizer. Linked into the
 * instrumented programs, so that no report has to be suppressed by the name of a function. The linker
 * sends calls of the functions below through here (`--wrap`, see .ci/sanitize). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* The interface of ThreadSanitizer. */
enum order { RELAXED = 0, RELEASE = 3 };
void __tsan_acquire(void *word);
void __tsan_release(void *word);

#define JOIN(a, b) a##b
#define REAL(name) JOIN(__real_, name)
#define WRAP(name) JOIN(__wrap_, name)

/* The last drop of an Arc is ordered by a fence, which ThreadSanitizer does not model:
 * `fetch_sub(1, Release)` and, if the count is then 0, `fence(Acquire)`. The fence acquires the count
 * that the same thread has just brought to 0. It does that in Rust's memory model too, so no race is
 * hidden.
 *
 * If std itself drops the last reference, to a handle of a thread for example, its fence is not seen.
 * So a subtraction orders, and is not recorded as an access that the `free` would race with. */

void REAL(__tsan_atomic_thread_fence)(int order);

/* The count that this thread brought to 0 by its last subtraction, or null. */
static __thread volatile long *zeroed;

long WRAP(__tsan_atomic64_fetch_sub)(volatile long *word, long subtrahend, int order) {
    if (order >= RELEASE)
        __tsan_release((void *)word);
    long before = __atomic_fetch_sub(word, subtrahend, __ATOMIC_SEQ_CST);
    if (order != RELAXED && order != RELEASE)
        __tsan_acquire((void *)word);
    zeroed = before == subtrahend ? word : 0;
    return before;
}

void WRAP(__tsan_atomic_thread_fence)(int order) {
    REAL(__tsan_atomic_thread_fence)(order);
    if (zeroed && order != RELAXED && order != RELEASE)
        __tsan_acquire((void *)zeroed);
    zeroed = 0;
}

/* The fast path of std's mutex is inlined, and so instrumented. The slow path is in std. It returns
 * when it has the lock. */

void REAL(LOCK_CONTENDED)(uint32_t *mutex);

void WRAP(LOCK_CONTENDED)(uint32_t *mutex) {
    REAL(LOCK_CONTENDED)(mutex);
    __tsan_acquire(mutex);
}

/* ThreadSanitizer checks the accesses of these functions also if the caller is not instrumented. In
 * instrumented code their names begin with `__tsan_`. So the calls here are those of std, whose
 * synchronisation is not seen, as in the channel by which libtest collects results. */

#define UNCHECKED(name, ...) \
    static void *(*libc_##name)(__VA_ARGS__); \
    void *REAL(name)(__VA_ARGS__);

UNCHECKED(memcpy, void *, const void *, size_t)
UNCHECKED(memmove, void *, const void *, size_t)
UNCHECKED(memset, void *, int, size_t)

__attribute__((constructor)) static void find_libc(void) {
    libc_memset = dlsym(RTLD_NEXT, "memset");
    libc_memmove = dlsym(RTLD_NEXT, "memmove");
    libc_memcpy = dlsym(RTLD_NEXT, "memcpy");
}

void *WRAP(memcpy)(void *to, const void *from, size_t bytes) {
    return (libc_memcpy ? libc_memcpy : REAL(memcpy))(to, from, bytes);
}

void *WRAP(memmove)(void *to, const void *from, size_t bytes) {
    return (libc_memmove ? libc_memmove : REAL(memmove))(to, from, bytes);
}

void *WRAP(memset)(void *to, int byte, size_t bytes) {
    return (libc_memset ? libc_memset : REAL(memset))(to, byte, bytes);
}
