/* suggest.c - see suggest.h. The distance counts letters that are missing, too many, wrong, or
 * swapped with their neighbour; case is free. */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 64 /* nobody mistypes longer words in a way that we could guess */

/* One more than may be wrong: a third of the word, and one letter in any. Who had the first letter
 * right may have a little more wrong. */
static unsigned limit_of(size_t len, int first_is_right)
{
    return len < 3 ? 2 : (unsigned)(len + (first_is_right ? 2 : 0)) / 3 + 1;
}

struct suggestion suggest_for(const char *word)
{
    struct suggestion s = {.word = word, .len = strlen(word)};

    s.distance = s.len > LONGEST ? 0 : limit_of(s.len, 1);
    return s;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static int same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The distance of a and b; once it is clear that it reaches `limit`, some number from `limit` on.
 * Three rows of the usual table are enough: a swap looks back two. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m, unsigned limit)
{
    unsigned rows[3][LONGEST + 2], *two = rows[0], *one = rows[1], *now = rows[2], *spare;
    size_t i, k;

    for (k = 0; k <= m; k++)
        one[k] = (unsigned)k;
    for (i = 1; i <= n; i++) {
        unsigned nearest = now[0] = (unsigned)i;

        for (k = 1; k <= m; k++) {
            now[k] = least(one[k - 1] + !same(a[i - 1], b[k - 1]), least(one[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) && same(a[i - 2], b[k - 1]))
                now[k] = least(now[k], two[k - 2] + 1);
            nearest = least(nearest, now[k]);
        }
        if (nearest > limit)
            return nearest;
        spare = two;
        two = one;
        one = now;
        now = spare;
    }
    return one[m];
}

void suggest_try(struct suggestion *s, const char *candidate)
{
    size_t len = strlen(candidate);
    unsigned limit = least(s->distance, limit_of(s->len, same(*s->word, *candidate))), d;

    if (len > LONGEST || len >= s->len + limit || s->len >= len + limit)
        return;
    d = distance(s->word, s->len, candidate, len, limit);
    /* A word of which not one letter stayed is no guess. */
    if (d < limit && d < (len > s->len ? len : s->len)) {
        s->best = candidate;
        s->distance = d;
    }
}

const char *suggest_from(const char *word, const char *const *list)
{
    struct suggestion s = suggest_for(word);

    for (; *list; list++)
        suggest_try(&s, *list);
    return s.best;
}
