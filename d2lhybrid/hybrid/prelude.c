#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* a * b + c, in one step where the processor has one (in sums, clang has none for several numbers) */
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

/* From here to `dots`: products for several rows at once. Notebook 22 explains them.

   A vector holds `lanes` numbers, as many as the processor computes with in one
   step. The processor has registers for 32 vectors, or for 16, and the sums of a
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

/* This lets NaN through: no comparison with NaN is true. */
static float relu(float x) { return x < 0 ? 0 : x; }

/* From here to `gelu_tanh`: functions of one number, such as C's own expf, logf, tanhf and erff,
   which compute one number after the other. These are arithmetic alone, without branches, and
   become part of the loop that calls them (INLINE), so that the compiler can make vectors of it.
   NaN goes through all of them. Beside each stands how far it may be off, in units in the last
   place (ulp); tests/hybrid/test_accuracy.py measures that. benchmarks/coefficients.py finds the
   coefficients. Notebook 22 builds the first of them. */
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#pragma STDC FP_CONTRACT ON
#endif

/* A number and its bits: 1 for the sign, 8 for the exponent + 127, 23 for the digits. */
typedef union { float number; unsigned bits; } both;

/* 2 to the power k - 127, and 0 for k = 0. Of k, only the last 9 bits count; the first is 0. */
INLINE float power_of_2(unsigned k)
{
    both power;
    power.bits = k << 23;
    return power.number;
}

/* e^r, for |r| up to 0.35. The polynomial is off by 0.03 ulp; rounding comes on top. */
INLINE float exp_polynomial(float r)
{
    float p = 1.38210563e-3f;
    p = MULTIPLY_ADD(p, r, 8.36867467e-3f), p = MULTIPLY_ADD(p, r, 4.16682623e-2f);
    p = MULTIPLY_ADD(p, r, 0.166665211f), p = MULTIPLY_ADD(p, r, 0.49999994f);
    p = MULTIPLY_ADD(p, r, 1);
    return MULTIPLY_ADD(p, r, 1);
}

/* e^(x - less), without the factor 2^n: x is n log 2 + r, with a whole number n (range reduction).
   Floats near 1.5 * 2^23 are whole numbers, so to add it rounds, and the last bits of the sum are n;
   n stops at `most`. log 2 is taken off in two parts; the first has 15 digits, so n times it is
   exact. `less` is what x itself has no digits for. */
INLINE float exp_without_power_of_2(float x, float less, unsigned most, unsigned *n)
{
    const both far = {12582912};
    both sum = {MULTIPLY_ADD(x, 1.44269504f, far.number)};
    sum.bits = sum.bits < far.bits + most ? sum.bits : far.bits + most;
    *n = sum.bits;
    const float whole = sum.number - far.number, r = MULTIPLY_ADD(whole, -0.693145752f, x) - less;
    return exp_polynomial(MULTIPLY_ADD(whole, -1.42860677e-6f, r));
}
static const unsigned no_limit = 0xffffffff - 0x4b400000; /* the largest, less the bits of `far` */

/* e^x. A float has exponents from -126 to 127 only, so the factor 2^n comes in two halves; with an n
   of 150 it is infinite. */
INLINE float inline_expf(float x) /* 0.9 ulp, or 1.2 where MULTIPLY_ADD takes two steps */
{
    unsigned n;
    const float p = exp_without_power_of_2(x < -104 ? -104 : x, 0, 150, &n);
    n += 2 * 127;
    return p * power_of_2(n / 2) * power_of_2(n - n / 2);
}

/* log(x). x is 2^n (1 + f), with f between sqrt(1/2) - 1 and sqrt(2) - 1: the whole number whose
   bits are those of x has n in front. Below 2^-126 floats have fewer digits, so these are made
   larger. */
INLINE float inline_logf(float x) /* 1 ulp */
{
    const float tiny = 1.17549435e-38f, lift = x < tiny ? 25 : 0;
    both rest = {x < tiny ? x * 33554432 : x};
    const int n = (int)(rest.bits - 0x3f3504f3u) >> 23;
    rest.bits -= (unsigned)n << 23;
    const float f = rest.number - 1, square = f * f, whole = n - lift;
    float p = MULTIPLY_ADD(f, -7.63639957e-2f, 0.127621993f);
    p = MULTIPLY_ADD(square, p, MULTIPLY_ADD(f, -0.131596133f, 0.142015815f));
    p = MULTIPLY_ADD(square, p, MULTIPLY_ADD(f, -0.166234091f, 0.200012416f));
    p = MULTIPLY_ADD(square, p, MULTIPLY_ADD(f, -0.250008196f, 0.333333313f));
    const float small = MULTIPLY_ADD(whole, 1.42860677e-6f, p * square * f);
    const float result = MULTIPLY_ADD(whole, 0.693145752f, MULTIPLY_ADD(-0.5f, square, small) + f);
    return x > 0 ? x < INFINITY ? result : x : x == 0 ? -INFINITY : NAN;
}

/* y / (1 + e^-x). Both are made smaller by 2^-32, so that e^-x is infinite only where the result is
   0. */
INLINE float logistic(float y, float x)
{
    const float one = 2.32830644e-10f;
    unsigned n;
    const float p = exp_without_power_of_2(x > 64 ? -64 : -x, 0, 159, &n);
    return y * one / MULTIPLY_ADD(p, power_of_2(n + 127 - 32), one);
}

INLINE float sigmoid(float x) { return logistic(1, x); } /* 2.5 ulp */

/* x * sigmoid(z). A large x is taken into the quotient: sigmoid(-90) alone would have few digits. */
INLINE float times_sigmoid(float x, float z)
{
    return logistic(x < -1 ? x : 1, z) * (x < -1 ? 1 : x);
}

INLINE float silu(float x) { return times_sigmoid(x, x); } /* 2.9 ulp */

/* tanh(x) is 1 - 2 sigmoid(-2x). Of a small x this would keep few digits; there it is x + x^3 times
   a polynomial of x^2. */
INLINE float inline_tanhf(float x) /* 1 ulp, or 1.1 */
{
    const float size = fabsf(x), square = x * x;
    float p = -3.58595862e-4f;
    p = MULTIPLY_ADD(p, square, 2.30188458e-3f), p = MULTIPLY_ADD(p, square, -7.94684514e-3f);
    p = MULTIPLY_ADD(p, square, 2.14871764e-2f), p = MULTIPLY_ADD(p, square, -5.38799874e-2f);
    p = MULTIPLY_ADD(p, square, 0.133323476f), p = MULTIPLY_ADD(p, square, -0.333332956f);
    const float small = MULTIPLY_ADD(size, p * square, size);
    const float large = 1 - 2 * sigmoid(-2 * size);
    return copysignf(square < 1 ? small : large, x);
}

/* x times the chance that a normal random number is below x. With a = |x|, the chance to be above a
   is e^(-a^2/2) / 2 times a function that falls slowly, here a quotient of two polynomials, which
   are added up in pairs: so no sum waits for many others, and fewer roundings meet. Of a^2 only the
   first half of a's digits is squared at once, which is exact; the rest is `less`. So it keeps its
   digits where 1 + erf would have none. From 14.5 on the chance is 0. (The bits of positive numbers
   are in their order. 0 * x is 0 with the sign of x.) */
INLINE float gelu(float x) /* 5.7 ulp, or 7.3; above 1, 1.4 */
{
    const both most = {14.5f};
    both size = {fabsf(x)}, half;
    size.bits = size.bits < most.bits ? size.bits : most.bits;
    half.bits = size.bits & 0xfffff000;
    const float a = size.number, b = half.number;
    unsigned n;
    const float p = exp_without_power_of_2(-0.5f * b * b, 0.5f * (a - b) * (a + b), no_limit, &n);
    const float a2 = a * a;
    float top = MULTIPLY_ADD(a, 8.08838308e-2f, 0.365380883f);
    top = MULTIPLY_ADD(a2, 8.17123428e-3f, top);
    top = MULTIPLY_ADD(a2, top, MULTIPLY_ADD(a, 0.875190735f, 1));
    float bottom = MULTIPLY_ADD(a, 1.02410009e-2f, 0.101379424f);
    bottom = MULTIPLY_ADD(a2, bottom, MULTIPLY_ADD(a, 0.468025744f, 1.20029819f));
    bottom = MULTIPLY_ADD(a2, bottom, MULTIPLY_ADD(a, 1.67307556f, 1));
    const float raised = p * power_of_2(n + 127 + 26), above = raised * (a * (top / bottom));
    return (x > 0 ? x : 0 * x) - above * 7.4505806e-9f; /* 2^-27: half of 2^-26 */
}

/* the same, nearly: x * (1 + tanh(u)) / 2, which is x * sigmoid(2u). 3 ulp from -1 on; to the left the
   rounding of 2u counts, the more the larger it is. */
INLINE float gelu_tanh(float x)
{
    return times_sigmoid(x, x * MULTIPLY_ADD(x * x, 7.13548163e-2f, 1.59576912f));
}

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* The next four compute the n rows of y from those of x, of k numbers each. Sums may be taken in
   another order, as in `dots`. */

/* The largest of k numbers, or any if there is a NaN. The bits of floats, as whole numbers, are in
   the same order once those below 0 are turned around; of a maximum of floats, most compilers make
   no vectors. */
static inline float largest(ptrdiff_t k, const float *x)
{
    int most = -0x7f800001; /* of -INFINITY */
    for (ptrdiff_t i = 0; i < k; i++) {
        const both one = {x[i]};
        const int bits = (int)one.bits, order = bits ^ (bits >> 31 & 0x7fffffff);
        most = order > most ? order : most;
    }
    const both found = {.bits = (unsigned)(most ^ (most >> 31 & 0x7fffffff))};
    return found.number;
}

/* 2^24 e^x, for x up to 0: so large, it never needs two factors. */
INLINE float exp_times_2_24(float x)
{
    unsigned n;
    const float p = exp_without_power_of_2(x < -104 ? -104 : x, 0, no_limit, &n);
    return p * power_of_2(n + 127 + 24);
}

/* The largest number is taken off first, so that no power is larger than 1. A NaN reaches the sum,
   and so its row. */
static inline void softmax(ptrdiff_t n, ptrdiff_t k, const float *restrict x, float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r += one, x += k, y += k) {
        const float most = largest(k, x);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = 0; i < k; i++) {
            y[i] = exp_times_2_24(x[i] - most);
            sum += y[i];
        }
        const float scale = 1 / sum; /* 2^24 is in both */
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] *= scale;
    }
}

/* log(softmax(x)), without a quotient, which might be 0 */
static inline void log_softmax(ptrdiff_t n, ptrdiff_t k, const float *restrict x,
                               float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r += one, x += k, y += k) {
        const float most = largest(k, x);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (ptrdiff_t i = 0; i < k; i++)
            sum += exp_times_2_24(x[i] - most);
        const float rest = inline_logf(sum * 5.96046448e-8f);
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = x[i] - most - rest;
    }
}

/* The sum of k numbers, or of their squares; of parts, as in `dots`. */
static inline double sum_of(ptrdiff_t k, const float *x, int squares)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < k; i += longest * one) {
        const ptrdiff_t end = smaller(i + longest, k);
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (ptrdiff_t j = i; j < end; j++)
            part += squares ? x[j] * x[j] : x[j];
        sum += part;
    }
    return sum;
}

/* The variance is the mean square of what is left without the mean: of large numbers that
   differ little, the difference of two sums would keep no digit. */
static inline void layer_norm(ptrdiff_t n, ptrdiff_t k, float eps, const float *restrict x,
                              float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r += one, x += k, y += k) {
        const float mean = sum_of(k, x, 0) / k;
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = x[i] - mean;
        const float scale = 1 / sqrtf(sum_of(k, y, 1) / k + eps);
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] *= scale;
    }
}

static inline void rms_norm(ptrdiff_t n, ptrdiff_t k, float eps, const float *restrict x,
                            float *restrict y)
{
    for (ptrdiff_t r = 0; r < n; r += one, x += k, y += k) {
        const float scale = 1 / sqrtf(sum_of(k, x, 1) / k + eps);
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = x[i] * scale;
    }
}
