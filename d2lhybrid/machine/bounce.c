/* Two threads, 0 and 1, write the same number in turn, so its line goes from core to core. Each
   waits until the number is its own and writes the other's, which is the next, until there were
   `turns`. Returns where it stopped: too early, if the other thread did not answer in time.
   caches.measured_latencies uses it. */
#include <stddef.h>

ptrdiff_t bounce(ptrdiff_t *number, ptrdiff_t own, ptrdiff_t turns)
{
    for (long patience = 20000000; own < turns && patience > 0; patience--)
        if (__atomic_load_n(number, __ATOMIC_ACQUIRE) == own) {
            __atomic_store_n(number, own + 1, __ATOMIC_RELEASE);
            own += 2;
        }
    return own;
}
