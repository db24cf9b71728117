/* read_budget.c - budgets of reading time by token; see read_budget.h. */
#include "server/read_budget.h"

#include "base/text.h"

#include <unistd.h>

static uint64_t hash_of(const char *token)
{
    uint64_t h = text_hash(token);

    return h ? h : 1;
}

#define COUNT_US 1000000LL /* between two counts of the tokens that share */

static void count_sharing(struct read_budgets *b, int64_t now)
{
    int n = 0;

    if (b->sharing && now - b->counted_at < COUNT_US)
        return;
    for (int i = 0; i < READ_BUDGET_TOKENS; i++)
        n += b->at[i].token && now - b->at[i].used_at < READ_BUDGET_ACTIVE;
    b->sharing = n > READ_BUDGET_FULL ? n : READ_BUDGET_FULL;
    b->counted_at = now;
    if (!b->processors) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);

        b->processors = processors > 0 ? (int)processors : 1;
    }
}

/* How much a budget grows in this time, and how long it takes to grow so much. */
static int64_t growth(const struct read_budgets *b, int64_t us)
{
    return us * b->processors * READ_BUDGET_FULL / READ_BUDGET_SHARE / b->sharing;
}

static int64_t time_to_grow(const struct read_budgets *b, int64_t us)
{
    return us * READ_BUDGET_SHARE * b->sharing / READ_BUDGET_FULL / b->processors + 1;
}

static int64_t most(const struct read_budgets *b)
{
    return READ_BUDGET_MAX * READ_BUDGET_FULL / b->sharing;
}

static void refill(const struct read_budgets *b, struct read_budget *t, int64_t now)
{
    if (now > t->at) {
        t->left += growth(b, now - t->at);
        t->at = now;
    }
    if (t->left > most(b))
        t->left = most(b);
}

/* Finds the stored budget of the token; NULL if none is stored. */
static struct read_budget *find(struct read_budgets *b, uint64_t token)
{
    for (int i = 0; i < READ_BUDGET_TOKENS; i++)
        if (b->at[i].token == token)
            return &b->at[i];
    return NULL;
}

/* Replaces the stored budget that has most time left by a full budget of this token. */
static struct read_budget *add(struct read_budgets *b, uint64_t token, int64_t now)
{
    struct read_budget *fullest = &b->at[0];

    for (int i = 0; i < READ_BUDGET_TOKENS; i++) {
        struct read_budget *t = &b->at[i];

        if (!t->token) {
            fullest = t;
            break;
        }
        refill(b, t, now);
        if (t->left > fullest->left)
            fullest = t;
    }
    *fullest = (struct read_budget){.token = token, .left = most(b), .at = now};
    return fullest;
}

int64_t read_budget_wait(struct read_budgets *b, const char *token, int64_t now)
{
    struct read_budget *t = find(b, hash_of(token));

    if (!t)
        return 0;
    count_sharing(b, now);
    refill(b, t, now);
    if (t->left > 0)
        return 0;
    t->used_at = now;
    return time_to_grow(b, 1 - t->left);
}

void read_budget_charge(struct read_budgets *b, const char *token, int64_t start, int64_t end)
{
    uint64_t hash = hash_of(token);
    struct read_budget *t = find(b, hash);
    int64_t least;

    count_sharing(b, end);
    if (!t)
        t = add(b, hash, start);
    refill(b, t, end);
    t->used_at = end;
    t->left -= end - start;
    /* The bound of a whole share, so that the wait gets shorter when fewer tokens read. */
    least = -(READ_BUDGET_WAIT * b->processors / READ_BUDGET_SHARE);
    if (t->left < least)
        t->left = least;
}
