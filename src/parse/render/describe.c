/* describe.c - describes keys from the key tables; see describe.h. */
#include "parse/render/describe.h"

#include <string.h>

/* Mentions only exceptions, because most keys are allowed in all tasks. */
void describe_key_places(struct buf *b, const struct key *k)
{
    unsigned kinds = k->places & KEY_ALL;

    if (!k->places)
        return;
    if (kinds == KEY_COMMANDS && strcmp(k->name, "run") && strcmp(k->name, "argv"))
        buf_addstr(b, " Commands only.");
    if (kinds == (KEY_COMMANDS | KEY_CUSTOM))
        buf_addstr(b, " Not for functions and nested workflows.");
    if (kinds == KEY_JOBS)
        buf_addstr(b, " Not for nested workflows.");
    if (!(k->places & KEY_HOOKS))
        buf_addstr(b, " Not in `on_failure` and `on_exit`.");
    if (k->places & KEY_COMMON)
        buf_addstr(b, " Also in `defaults`.");
}

/* Adds an amount in the form that a user would write, such as 30s, 2h or 1MB. */
static void add_amount(struct buf *b, enum key_type type, int64_t n)
{
    static const struct {
        enum key_type type;
        int64_t n;
        const char *unit;
    } units[] = {{KEY_DURATION, 86400000000LL, "d"}, {KEY_DURATION, 3600000000LL, "h"},
                 {KEY_DURATION, 60000000, "m"},      {KEY_DURATION, 1000000, "s"},
                 {KEY_DURATION, 1000, "ms"},         {KEY_SIZE, 1000000000, "GB"},
                 {KEY_SIZE, 1000000, "MB"},          {KEY_SIZE, 1000, "kB"},
                 {KEY_SIZE, 1 << 30, "GiB"},         {KEY_SIZE, 1 << 20, "MiB"}};

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (n && units[i].type == type && n % units[i].n == 0) {
            buf_addf(b, "%lld%s", (long long)(n / units[i].n), units[i].unit);
            return;
        }
    buf_addi64(b, n);
    buf_addstr(b, !n && type == KEY_DURATION ? "s" : "");
}

void describe_key_value(struct buf *b, const struct key *k)
{
    for (size_t i = 0; k->words && k->words[i]; i++)
        buf_addf(b, "%s`%s`", !i ? "" : k->words[i + 1] ? ", " : " or ", k->words[i]);
    buf_addstr(b, key_type_sentence(k->type));
    if (k->type == KEY_INT || k->type == KEY_COUNT || k->type == KEY_NUMBER ||
        k->type == KEY_DURATION || k->type == KEY_SIZE) {
        buf_addstr(b, ", ");
        add_amount(b, k->type, k->min);
        buf_addstr(b, " to ");
        add_amount(b, k->type, k->max);
    }
    buf_addstr(b, k->type == KEY_COUNT ? ", or `auto`" : "");
}

/* Removes the parentheses of a derived default; puts any other default in backquotes. */
void describe_config_default(struct buf *b, const struct key *k)
{
    size_t len = strlen(k->default_value);

    if (*k->default_value == '(')
        buf_add(b, k->default_value + 1, len - 2);
    else
        buf_addf(b, "`%s`", k->default_value);
}
