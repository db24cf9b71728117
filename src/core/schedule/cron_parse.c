/* cron_parse.c - parses a cron pattern; see cron.h. */
#include "core/schedule/cron.h"

#include "base/date.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(list)   (sizeof(list) / sizeof(*(list)))
#define BIT(n)        (UINT64_C(1) << (n))
#define BITS(low, hi) (BIT((hi) + 1) - BIT(low))

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field {
    const char *name;
    int low, high; /* the range that '*' stands for */
    int max;       /* the highest number accepted: Sunday may be 7 */
    const char *const *names;
    const char *or_names;
} fields[FIELDS] = {
    [MINUTE] = {"minute", 0, 59, 59, NULL, ""},
    [HOUR] = {"hour", 0, 23, 23, NULL, ""},
    [DAY] = {"day-of-month", 1, 31, 31, NULL, ""},
    [MONTH] = {"month", 1, 12, 12,
               (const char *const[]){"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
                                     "oct", "nov", "dec", NULL},
               " or jan to dec"},
    [WEEKDAY] = {"day-of-week", 0, 6, 7,
                 (const char *const[]){"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL},
                 " or sun to sat"},
};

static const struct {
    const char *name, *text;
} nicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

struct parser {
    const char *text, *at;
    const struct field *field;
    struct err *err;
};

/* Sets an error with column and field: cron '0 24 * * *', column 3, hour: … */
#define WRONG(p, where, fmt, ...)                                                 \
    err_set((p)->err, E_INVALID, "cron '%.100s', column %d, %s: " fmt, (p)->text, \
            (int)((where) - (p)->text) + 1, (p)->field->name, __VA_ARGS__)

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct parser *p)
{
    while (is_blank(*p->at))
        p->at++;
}

static bool accept_char(struct parser *p, char c)
{
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static size_t word_length(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

/* Reports that `what` was expected and what was found at p->at instead: a word, a character, or the
 * end of the field. */
static int expected(const struct parser *p, const char *what)
{
    size_t len = word_length(p->at);

    if (!*p->at || is_blank(*p->at))
        return WRONG(p, p->at, "expected %s, but the field ends here", what);
    return WRONG(p, p->at, "expected %s, not '%.*s'", what, len ? (int)len : 1, p->at);
}

static bool accept_number(struct parser *p, int *out)
{
    const char *start = p->at;
    int n = 0;

    for (; *p->at >= '0' && *p->at <= '9'; p->at++)
        /* Stops growing at 1000, which is out of range anyway, to prevent an overflow. */
        n = n < 1000 ? n * 10 + (*p->at - '0') : n;
    if (p->at > start && !word_length(p->at)) {
        *out = n;
        return true;
    }
    p->at = start;
    return false;
}

static bool accept_name(struct parser *p, int *out)
{
    const char *const *names = p->field->names;
    size_t len = word_length(p->at);

    for (int i = 0; names && names[i]; i++)
        if (strlen(names[i]) == len && !strncasecmp(p->at, names[i], len)) {
            p->at += len;
            *out = p->field->low + i;
            return true;
        }
    return false;
}

static int parse_value(struct parser *p, int *out)
{
    const struct field *f = p->field;
    const char *start = p->at;
    char what[64];

    if (accept_name(p, out))
        return 0;
    if (!accept_number(p, out)) {
        snprintf(what, sizeof(what), "a number from %d to %d%s", f->low, f->max, f->or_names);
        return expected(p, what);
    }
    if (*out < f->low || *out > f->max)
        return WRONG(p, start, "%.*s is not between %d and %d", (int)(p->at - start), start, f->low,
                     f->max);
    return 0;
}

/* Parses the end of a range; p->at is after the '-'. */
static int parse_range_end(struct parser *p, const char *start, int low, int *high)
{
    const struct field *f = p->field;
    int rc = parse_value(p, high);

    if (rc)
        return rc;
    if (f == &fields[WEEKDAY] && *high == 0 && low > 0)
        *high = 7; /* Sunday ends a range as 7, as in fri-sun */
    if (*high < low)
        return WRONG(p, start, "the range %.*s goes backwards: write %d-%d,%d-%d",
                     (int)(p->at - start), start, low, f->high, f->low, *high);
    return 0;
}

static int parse_step(struct parser *p, int *step)
{
    const struct field *f = p->field;
    const char *start = p->at;
    int most = f->high - f->low + 1;

    if (!accept_number(p, step))
        return expected(p, "a number after '/'");
    if (*step < 1 || *step > most)
        return WRONG(p, start, "the step %.*s is not between 1 and %d", (int)(p->at - start), start,
                     most);
    return 0;
}

/* Parses an item of a list in a field: '*', a value or a range. '*' and a range may have a step. */
static int parse_item(struct parser *p, uint64_t *bits)
{
    const char *start = p->at;
    int low = p->field->low, high = p->field->high, step = 1, rc;

    if (!accept_char(p, '*')) {
        if ((rc = parse_value(p, &low)))
            return rc;
        high = low;
        if (accept_char(p, '-')) {
            if ((rc = parse_range_end(p, start, low, &high)))
                return rc;
        } else if (*p->at == '/') {
            return WRONG(p, p->at, "a step needs a range or '*': %d-%d/…", low, p->field->high);
        }
    }
    if (accept_char(p, '/') && (rc = parse_step(p, &step)))
        return rc;
    for (; low <= high; low += step)
        *bits |= BIT(low);
    return 0;
}

static int parse_field(struct parser *p, uint64_t *bits)
{
    int rc;

    do {
        if ((rc = parse_item(p, bits)))
            return rc;
    } while (accept_char(p, ','));
    return *p->at && !is_blank(*p->at) ? expected(p, "',' or a blank") : 0;
}

static int check_text(const char *text, struct err *err)
{
    for (size_t i = 0; text[i]; i++) {
        if (i == CRON_MAX_TEXT)
            return err_set(err, E_INVALID, "a cron pattern may have at most %d characters",
                           CRON_MAX_TEXT);
        if (text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
            return err_set(err, E_INVALID,
                           "the character in column %zu of the cron pattern is not printable ASCII",
                           i + 1);
    }
    return 0;
}

/* Replaces a nickname with its five fields. */
static int expand_nickname(const char *text, const char **out, struct err *err)
{
    size_t len = strcspn(text, " \t"), i;

    for (i = 0; i < COUNT(nicknames); i++)
        if (strlen(nicknames[i].name) == len && !strncasecmp(text, nicknames[i].name, len) &&
            !text[len + strspn(text + len, " \t")]) {
            *out = nicknames[i].text;
            return 0;
        }
    if (len == 7 && !strncasecmp(text, "@reboot", len))
        return err_set(
            err, E_INVALID,
            "cron '@reboot' is not supported: use a cron pattern or a nickname such as @daily");
    return err_set(
        err, E_INVALID,
        "cron '%.100s' is not a known nickname: use @yearly, @annually, @monthly, @weekly, "
        "@daily, @midnight or @hourly, or a pattern of five fields",
        text);
}

/* Whether the pattern matches any day. Checks the days of a leap year. Weekdays need no check:
 * every date, even February 29, falls on every weekday in some year. */
static bool is_ever_due(const struct cron *c)
{
    for (int month = 1; month <= 12; month++)
        if (c->months & BIT(month) && c->days & BITS(1, date_month_days(2000, month)))
            return true;
    return c->either_day;
}

static int parse_fields(const char *text, struct cron *out, struct err *err)
{
    struct parser p = {.text = text, .at = text, .err = err};
    uint64_t bits[FIELDS] = {0};
    const char *start[FIELDS] = {0};
    int i, rc;

    for (i = 0; i < FIELDS; i++) {
        skip_blanks(&p);
        p.field = &fields[i];
        start[i] = p.at;
        if (!*p.at)
            return err_set(
                err, E_INVALID,
                "cron '%.100s' has only %d of the five fields minute hour day-of-month month "
                "day-of-week",
                text, i);
        if ((rc = parse_field(&p, &bits[i])))
            return rc;
    }
    skip_blanks(&p);
    if (*p.at)
        return err_set(err, E_INVALID,
                       "cron '%.100s', column %d: there are more than five fields, minute hour "
                       "day-of-month month day-of-week; seconds and years are not supported",
                       text, (int)(p.at - text) + 1);
    *out = (struct cron){
        .minutes = bits[MINUTE],
        .hours = bits[HOUR],
        .days = bits[DAY],
        .months = bits[MONTH],
        .weekdays = (bits[WEEKDAY] | bits[WEEKDAY] >> 7) & BITS(0, 6),
        .either_day = *start[DAY] != '*' && *start[WEEKDAY] != '*',
    };
    p.field = &fields[DAY];
    return is_ever_due(out) ? 0
                            : WRONG(&p, start[DAY], "the pattern is never due: %s",
                                    "none of its months has such a day");
}

int cron_parse(const char *text, struct cron *out, struct err *err)
{
    struct cron c;
    int rc = check_text(text, err);

    if (!rc && text[strspn(text, " \t")] == '@')
        rc = expand_nickname(text + strspn(text, " \t"), &text, err);
    if (!rc)
        rc = parse_fields(text, &c, err);
    if (!rc)
        *out = c;
    return rc;
}
