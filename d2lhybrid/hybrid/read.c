/* Reads all parameters several times. Eight sums, from eight streams through memory, so that an
   addition never waits for the sum before it. compiler.reading uses it. */
#include <stddef.h>

float repeat(ptrdiff_t times, ptrdiff_t count, const float *const *parameters,
             const ptrdiff_t *sizes)
{
    float total = 0;
    for (; times > 0; times--)
        for (ptrdiff_t p = 0; p < count; p++) {
            const float *w = parameters[p];
            const ptrdiff_t m = sizes[p] / 8;
            float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
#pragma omp simd reduction(+ : a, b, c, d, e, f, g, h)
            for (ptrdiff_t i = 0; i < m; i++) {
                a += w[i], b += w[m + i], c += w[2 * m + i], d += w[3 * m + i];
                e += w[4 * m + i], f += w[5 * m + i], g += w[6 * m + i], h += w[7 * m + i];
            }
            for (ptrdiff_t i = 8 * m; i < sizes[p]; i++)
                a += w[i];
            total += a + b + c + d + e + f + g + h;
        }
    return total;
}
