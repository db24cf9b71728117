/* suggest.c - finds the word that a user probably meant; see suggest.h. The distance of two words
 * is the number of letters that are missing, added, wrong, or swapped with their neighbour; case is
 * ignored. */
#include "base/suggest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 64 /* words with more bytes are not compared */

/* The distance from which on a candidate is too far from the word: one more than a third of the
 * word's length, and at least 2, so that one letter may always be wrong. It is higher if the first
 * letter is right. */
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

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static int same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Returns the distance between a and b. Once the distance is known to be at least `limit`, returns
 * any number of at least `limit`. Three rows of the dynamic programming table are enough: a swap
 * refers to the row before the previous one. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m, unsigned limit)
{
    unsigned rows[3][LONGEST + 2], *two = rows[0], *one = rows[1], *now = rows[2], *spare;

    for (size_t k = 0; k <= m; k++)
        one[k] = (unsigned)k;
    for (size_t i = 1; i <= n; i++) {
        unsigned nearest = now[0] = (unsigned)i;

        for (size_t k = 1; k <= m; k++) {
            now[k] = smaller(one[k - 1] + !same_letter(a[i - 1], b[k - 1]),
                             smaller(one[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
                same_letter(a[i - 2], b[k - 1]))
                now[k] = smaller(now[k], two[k - 2] + 1);
            nearest = smaller(nearest, now[k]);
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
    unsigned limit = smaller(s->distance, limit_of(s->len, same_letter(*s->word, *candidate))), d;

    if (len > LONGEST || len >= s->len + limit || s->len >= len + limit)
        return;
    d = distance(s->word, s->len, candidate, len, limit);
    /* A candidate that shares no letter with the word is not a suggestion. */
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
