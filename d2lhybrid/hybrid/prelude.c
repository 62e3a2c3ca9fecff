#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* a * b + c, in one step where the processor has one (clang has none for several numbers) */
#if defined(FP_FAST_FMAF) && !defined(__clang__)
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

/* From here to `dots`: products for several rows at once. Notebook 21 explains them.

   A vector holds `lanes` numbers, as many as the processor computes with in one
   step. It has places for 32 vectors, its registers, or for 16, and the sums of a
   tile or a block must fit into them. A tile has `few` rows of x and 4 of w. A
   block has `many` of w, and a panel of x: 2 * lanes rows, of which a part of
   `depth` numbers is copied at a time, so that the copy stays in the cache. */
#if defined(_WIN32) && !defined(__clang__)
enum { lanes = 4, few = 2, many = 6 }; /* gcc lays longer ones at wrong addresses */
#elif defined(__AVX512F__)
enum { lanes = 16, few = 4, many = 12 };
#elif defined(__aarch64__)
enum { lanes = 4, few = 4, many = 12 };
#elif defined(__AVX__)
enum { lanes = 8, few = 2, many = 6 };
#else
enum { lanes = 4, few = 2, many = 6 };
#endif
enum { panel = 2 * lanes, depth = 1024, longest = 256 * lanes };
typedef float vector __attribute__((vector_size(4 * lanes), may_alias));
typedef vector anywhere __attribute__((aligned(4)));
typedef float quarter __attribute__((vector_size(16), may_alias));
typedef int mask __attribute__((vector_size(4 * lanes)));

/* EACH writes out a loop, so that the sums in it stay in registers. And from here to
   pop_options, products are added in one step, where the processor has one. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#pragma STDC FP_CONTRACT ON
#else
#define UNROLL _Pragma("GCC unroll 16")
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "no-ipa-cp-clone")
#endif
#define EACH(i, times) UNROLL for (ptrdiff_t i = 0; i < times; i++)

static ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* The sum of the numbers in a vector. */
static inline float total(vector v)
{
    quarter sum = {0}, *part = (quarter *)&v;
    EACH(i, lanes / 4) sum += part[i];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* The last vector before `end`, with 0 in place of what is not to be kept. */
static inline vector last(const float *end, mask keep)
{
    return (vector)((mask)*(anywhere *)(end - lanes) & keep);
}

/* A tile: y[r * m + c] += the sum of x[r * k + i] * w[c * k + i] over `part` numbers, a
   vector or more, for 4 rows of w and `size` of x. Each vector that is fetched is used
   for several sums. Where x has fewer rows, its last one stands in, and the results of
   that are dropped. */
static inline __attribute__((always_inline)) void
add_tile(const ptrdiff_t size, ptrdiff_t rows, ptrdiff_t part, ptrdiff_t k, ptrdiff_t m,
         const float *x, const float *w, float *y, mask keep)
{
    vector sums[few][4] = {{{0}}};
    const float *row[few];
    EACH(r, size) row[r] = x + smaller(r, rows - 1) * k;
    for (ptrdiff_t i = 0; i + lanes <= part; i += lanes)
        EACH(c, 4) EACH(r, size)
            sums[r][c] += *(anywhere *)(row[r] + i) * *(anywhere *)(w + c * k + i);
    if (part % lanes) /* some numbers are left, fewer than a vector has */
        EACH(c, 4) EACH(r, size)
            sums[r][c] += last(row[r] + part, keep) * last(w + c * k + part, keep);
    EACH(r, size) EACH(c, 4)
        if (r < rows)
            y[r * m + c] += total(sums[r][c]);
}

/* The same for n rows of x and `outs` of w, of any length: tile by tile down the rows
   of x, so that 4 rows of w stay close. `add_dots` does what tiles leave over. */
static void add_tiles(ptrdiff_t n, ptrdiff_t outs, ptrdiff_t part, ptrdiff_t k,
                      ptrdiff_t m, const float *x, const float *w, float *y)
{
    const ptrdiff_t across = part < lanes ? 0 : outs - outs % 4;
    mask keep = {0};
    for (ptrdiff_t i = lanes - part % lanes; i < lanes; i++)
        keep[i] = -1; /* all bits are 1 */
    for (ptrdiff_t j = 0; j < across; j += 4)
        for (ptrdiff_t r = 0; r < n; r += few) {
            const ptrdiff_t rows = smaller(few, n - r);
            float *tile = y + r * m + j;
            if (rows > few / 2)
                add_tile(few, rows, part, k, m, x + r * k, w + j * k, tile, keep);
            else
                add_tile(few / 2, rows, part, k, m, x + r * k, w + j * k, tile, keep);
        }
    for (ptrdiff_t r = 0; r < n; r++)
        add_dots(part, k, outs - across, x + r * k, w + across * k, y + r * m + across);
}

/* Copies a panel of x, so that the numbers i of its rows lie side by side: first those
   of `lanes` rows, for each i, then those of the other half. The last row stands in for
   missing ones. */
static void pack(ptrdiff_t rows, ptrdiff_t part, ptrdiff_t k, const float *restrict x,
                 float *restrict to)
{
    for (ptrdiff_t first = 0; first < panel; first += lanes, to += depth * lanes) {
        const float *row[lanes];
        for (ptrdiff_t r = 0; r < lanes; r++)
            row[r] = x + smaller(first + r, rows - 1) * k;
        for (ptrdiff_t i = 0; i < part; i++)
            EACH(r, lanes) to[i * lanes + r] = row[r][i];
    }
}

/* A block: the same for a panel and `many` rows of w. Each lane belongs to another row
   of x, so no sum has to be taken inside a vector, and w is read as it is. After 256
   numbers a sum starts anew, because a small number loses digits when it is added to a
   large one. */
static void add_block(ptrdiff_t rows, ptrdiff_t part, ptrdiff_t k, ptrdiff_t m,
                      const vector *x, const float *w, float *y)
{
    union { vector half[2]; float of_row[panel]; } sums[many] = {{{{0}}}};
    for (ptrdiff_t i = 0, end; i < part; i = end) {
        vector some[many][2] = {{{0}}};
        for (end = smaller(i + 256, part); i < end; i++)
            EACH(c, many) {
                some[c][0] += w[c * k + i] * x[i];
                some[c][1] += w[c * k + i] * x[depth + i];
            }
        EACH(c, many) sums[c].half[0] += some[c][0], sums[c].half[1] += some[c][1];
    }
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < many; c++)
            y[r * m + c] += sums[c].of_row[r];
}

/* The same for all rows: panel by panel, and in tiles where so little is left that to
   copy it costs more than it saves. */
static void add_rows(ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, const float *x,
                     const float *w, float *y)
{
    vector packed[2 * depth];
    while (n >= panel * 3 / 4 && m >= 2 * many) {
        const ptrdiff_t rows = smaller(n, panel);
        for (ptrdiff_t i = 0, j; i < k; i += depth) {
            const ptrdiff_t part = smaller(depth, k - i);
            pack(rows, part, k, x + i, (float *)packed);
            for (j = 0; j + many <= m; j += many)
                add_block(rows, part, k, m, packed, w + j * k + i, y + j);
            add_tiles(rows, m - j, part, k, m, x + i, w + j * k + i, y + j);
        }
        n -= rows, x += rows * k, y += rows * m;
    }
    for (ptrdiff_t i = 0; i < k; i += longest)
        add_tiles(n, m, smaller(longest, k - i), k, m, x + i, w + i, y);
}

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC pop_options
#endif

/* y = x times the m rows of w, of k numbers each, for the n rows of x. Long sums
   are made of parts, because a small number loses digits when it is added to a
   large one. */
static inline void dots(ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, const float *x,
                        const float *w, float *y)
{
    for (ptrdiff_t j = 0; j < n * m; j++)
        y[j] = 0;
    if (n != 1) {
        add_rows(n, k, m, x, w, y);
        return;
    }
    const ptrdiff_t rest = k % longest;
    add_dots(rest, k, m, x, w, y);
    for (ptrdiff_t i = rest; i < k; i += longest)
        add_dots(longest, k, m, x + i, w + i, y);
}

/* Both functions let NaN through: no comparison with NaN is true. */
static float relu(float x) { return x < 0 ? 0 : x; }

static float sigmoid(float x)
{
    float e = expf(-fabsf(x)); /* at most 1: nothing overflows */
    return (x < 0 ? e : 1) / (1 + e);
}

/* e to the power x, for x up to 0. expf is in a library that computes one number after the other;
   this is arithmetic alone, so the compiler makes vectors of it. With n the whole number nearest
   to x / log 2, it is 2 to the n, times a polynomial of the rest, which is at most 0.35. To add
   1.5 * 2^23 leaves n in the last bits of a float; shifted, these are the bits of 2 to the n.
   (Polynomial: S. Moshier's Cephes library, expf. Off by two units in the last place at most.) */
static inline float power_of_e(float x)
{
    union { float number; unsigned bits; } shifted, scale;
    const float far = 12582912;
    shifted.number = x * 1.44269504f + far;
    const float n = shifted.number - far, r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f, p = p * r + 8.3334519073e-3f, p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f, p = p * r + 5.0000001201e-1f;
    scale.bits = (shifted.bits + 127) << 23;
    const float power = (p * r * r + r + 1) * scale.number;
    return x < -87 ? 0 : power; /* below, it is less than the smallest ordinary number */
}

/* 1 / (1 + e^-x), as sigmoid, in vectors */
static inline float logistic(float x)
{
    const float e = power_of_e(-fabsf(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static inline float silu(float x) { return x * logistic(x); }

/* x times the chance that a normal random number is below x */
static inline float gelu(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }

/* the same, nearly; 1 + tanh(u) is 2 / (1 + e^-2u) */
static inline float gelu_tanh(float x)
{
    return x * logistic(1.59576912f * (x + 0.044715f * x * x * x));
}

/* The next three compute the n rows of y from those of x, of k numbers each. Sums may be
   taken in another order, as in `dots`. */

/* The largest number is taken off first, so that no power is larger than 1. */
static inline void softmax(ptrdiff_t n, ptrdiff_t k, const float *restrict x, float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r++, x += k, y += k) {
        float largest = -INFINITY, sum = 0;
        for (ptrdiff_t i = 0; i < k; i++)
            largest = x[i] < largest ? largest : x[i]; /* a NaN stays */
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = power_of_e(x[i] - largest);
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = 0; i < k; i++)
            sum += y[i];
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] /= sum;
    }
}

/* The variance is the mean square of what is left without the mean: of large numbers that
   differ little, the difference of two sums would keep no digit. */
static inline void layer_norm(ptrdiff_t n, ptrdiff_t k, float eps, const float *restrict x,
                              float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r++, x += k, y += k) {
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = 0; i < k; i++)
            sum += x[i];
        const float mean = sum / k;
#pragma omp simd reduction(+ : squares)
        for (ptrdiff_t i = 0; i < k; i++) {
            y[i] = x[i] - mean;
            squares += y[i] * y[i];
        }
        const float scale = 1 / sqrtf(squares / k + eps);
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] *= scale;
    }
}

static inline void rms_norm(ptrdiff_t n, ptrdiff_t k, float eps, const float *restrict x,
                            float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r++, x += k, y += k) {
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (ptrdiff_t i = 0; i < k; i++)
            squares += x[i] * x[i];
        const float scale = 1 / sqrtf(squares / k + eps);
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = x[i] * scale;
    }
}
