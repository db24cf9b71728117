/* read_budget.c - budgets of reading time by token; see read_budget.h. */
#include "server/read_budget.h"

#include "base/text.h"

#include <unistd.h>

static uint64_t hash_of(const char *token)
{
    uint64_t h = text_hash(token);

    return h ? h : 1;
}

static int64_t growth(struct read_budgets *b, int64_t us)
{
    if (!b->processors) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);

        b->processors = n > 0 ? (int)n : 1;
    }
    return us * b->processors / READ_BUDGET_SHARE;
}

static void refill(struct read_budgets *b, struct read_budget *t, int64_t now)
{
    if (now <= t->at)
        return;
    t->left += growth(b, now - t->at);
    if (t->left > READ_BUDGET_MAX)
        t->left = READ_BUDGET_MAX;
    t->at = now;
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
    struct read_budget *most = &b->at[0];

    for (int i = 0; i < READ_BUDGET_TOKENS; i++) {
        struct read_budget *t = &b->at[i];

        if (!t->token) {
            most = t;
            break;
        }
        refill(b, t, now);
        if (t->left > most->left)
            most = t;
    }
    *most = (struct read_budget){token, READ_BUDGET_MAX, now};
    return most;
}

int64_t read_budget_wait(struct read_budgets *b, const char *token, int64_t now)
{
    struct read_budget *t = find(b, hash_of(token));

    if (!t)
        return 0;
    refill(b, t, now);
    if (t->left > 0)
        return 0;
    return (1 - t->left) * READ_BUDGET_SHARE / b->processors + 1;
}

void read_budget_charge(struct read_budgets *b, const char *token, int64_t start, int64_t end)
{
    uint64_t hash = hash_of(token);
    struct read_budget *t = find(b, hash);
    int64_t least = -growth(b, READ_BUDGET_WAIT);

    if (!t)
        t = add(b, hash, start);
    refill(b, t, end);
    t->left -= end - start;
    if (t->left < least)
        t->left = least;
}
