#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* a * b + c, in one step where the processor has one */
#ifdef FP_FAST_FMAF
#define MULTIPLY_ADD(a, b, c) fmaf(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* 1, in a form that hides it from the compiler: gcc 12 unrolls a loop that runs only once, and then
   adds up the sums in it one after the other. */
static const volatile ptrdiff_t one = 1;

/* y[j] += the sum of x[i] * w[j * stride + i] over k numbers, for the m rows of w. Four rows at a
   time, each from another quarter of w: so memory is read in four long streams, which is what
   memory is fastest at. Only these sums may be taken in another order, so that several numbers
   fit in one step. */
static void add_dots(ptrdiff_t k, ptrdiff_t stride, ptrdiff_t m, const float *restrict x,
                     const float *restrict w, float *restrict y)
{
    const ptrdiff_t q = m / 4;
    for (ptrdiff_t j = 0; j < q; j += one) {
        const float *w0 = w + j * stride, *w1 = w0 + q * stride;
        const float *w2 = w1 + q * stride, *w3 = w2 + q * stride;
        float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
        for (ptrdiff_t i = 0; i < k; i++) {
            a = MULTIPLY_ADD(w0[i], x[i], a);
            b = MULTIPLY_ADD(w1[i], x[i], b);
            c = MULTIPLY_ADD(w2[i], x[i], c);
            d = MULTIPLY_ADD(w3[i], x[i], d);
        }
        y[j] += a, y[j + q] += b, y[j + 2 * q] += c, y[j + 3 * q] += d;
    }
    for (ptrdiff_t j = 4 * q; j < m; j += one) { /* what four does not divide */
        float a = 0;
#pragma omp simd reduction(+ : a)
        for (ptrdiff_t i = 0; i < k; i++)
            a = MULTIPLY_ADD(w[j * stride + i], x[i], a);
        y[j] += a;
    }
}

/* y = x times the m rows of w, of k numbers each. Long sums are made of parts, because a small
   number loses digits when it is added to a large one. */
static void dots(ptrdiff_t k, ptrdiff_t m, const float *x, const float *w, float *y)
{
    const ptrdiff_t part = 1024, rest = k % part;
    for (ptrdiff_t j = 0; j < m; j++)
        y[j] = 0;
    add_dots(rest, k, m, x, w, y);
    for (ptrdiff_t i = rest; i < k; i += part)
        add_dots(part, k, m, x + i, w + i, y);
}

/* Both functions let NaN through: no comparison with NaN is true. */
static float relu(float x) { return x < 0 ? 0 : x; }

static float sigmoid(float x)
{
    float e = expf(-fabsf(x)); /* at most 1: nothing overflows */
    return (x < 0 ? e : 1) / (1 + e);
}
