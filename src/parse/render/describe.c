/* describe.c - see describe.h. */
#include "parse/render/describe.h"

#include <string.h>

/* ---- workflow files ---- */

static void add_words(struct buf *b, const char *const *words)
{
    size_t i;

    for (i = 0; words[i]; i++)
        buf_addf(b, "%s`%s`", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

/* Most keys are allowed in all tasks, so only exceptions are mentioned. */
void describe_key_places(struct buf *b, const struct key *k)
{
    unsigned kinds = k->places & KEY_ALL;

    if (!k->places)
        return;
    if (kinds == KEY_COMMANDS && strcmp(k->name, "run") && strcmp(k->name, "argv"))
        buf_addstr(b, " Commands only.");
    if (kinds == KEY_JOBS)
        buf_addstr(b, " Not for nested workflows.");
    if (!(k->places & KEY_HOOKS))
        buf_addstr(b, " Not in `on_failure` and `on_exit`.");
    if (k->places & KEY_COMMON)
        buf_addstr(b, " Also in `defaults`.");
}

void describe_key_value(struct buf *b, const struct key *k)
{
    if (k->words)
        add_words(b, k->words);
    else
        buf_addstr(b, key_type_sentence(k->type));
    if (k->type == KEY_INT || k->type == KEY_NUMBER)
        buf_addf(b, ", %lld to %lld", (long long)k->min, (long long)k->max);
}

/* ---- configuration ---- */

/* Adds an amount as a user would write it: 30s, 2h, 1MB. */
static void add_amount(struct buf *b, const struct config_key *k, int64_t n)
{
    static const struct {
        enum config_type type;
        int64_t n;
        const char *unit;
    } units[] = {
        {CONFIG_TYPE_DURATION, 86400000000LL, "d"}, {CONFIG_TYPE_DURATION, 3600000000LL, "h"},
        {CONFIG_TYPE_DURATION, 60000000, "m"},      {CONFIG_TYPE_DURATION, 1000000, "s"},
        {CONFIG_TYPE_DURATION, 1000, "ms"},         {CONFIG_TYPE_SIZE, 1000000000, "GB"},
        {CONFIG_TYPE_SIZE, 1000000, "MB"},          {CONFIG_TYPE_SIZE, 1000, "kB"}};
    size_t i;

    for (i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (n && units[i].type == k->type && n % units[i].n == 0) {
            buf_addf(b, "%lld%s", (long long)(n / units[i].n), units[i].unit);
            return;
        }
    buf_addi64(b, n);
    buf_addstr(b, !n && k->type == CONFIG_TYPE_DURATION ? "s" : "");
}

void describe_config_value(struct buf *b, const struct config_key *k)
{
    size_t i;

    for (i = 0; k->words && k->words[i]; i++)
        buf_addf(b, "%s`%s`", i ? ", " : "", k->words[i]);
    buf_addstr(b, config_type_sentence(k->type));
    if (k->min || k->max) {
        buf_addstr(b, ", ");
        add_amount(b, k, k->min);
        buf_addstr(b, " to ");
        add_amount(b, k, k->max);
    }
    buf_addstr(b, k->type == CONFIG_TYPE_COUNT ? ", or `auto`" : "");
}

/* A derived default loses its parentheses; any other gets backquotes. */
void describe_config_default(struct buf *b, const struct config_key *k)
{
    size_t len = strlen(k->default_value);

    if (*k->default_value == '(')
        buf_add(b, k->default_value + 1, len - 2);
    else
        buf_addf(b, "`%s`", k->default_value);
}
