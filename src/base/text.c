/* text.c - checks and converts text: UTF-8, times, durations; see text.h. */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

size_t text_step(const char *text, size_t left)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char c = left ? s[0] : 0, lo = 0x80, hi = 0xBF;
    size_t n, i;

    if (c < 0x80)
        return c != 0;
    if (c >= 0xC2 && c <= 0xDF)
        n = 2;
    else if ((c & 0xF0) == 0xE0)
        n = 3;
    else if (c >= 0xF0 && c <= 0xF4)
        n = 4;
    else
        return 0;
    if (left < n)
        return 0;
    /* These ranges exclude overlong forms, surrogates and code points above U+10FFFF. */
    if (c == 0xE0)
        lo = 0xA0;
    else if (c == 0xED)
        hi = 0x9F;
    else if (c == 0xF0)
        lo = 0x90;
    else if (c == 0xF4)
        hi = 0x8F;
    if (s[1] < lo || s[1] > hi)
        return 0;
    for (i = 2; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

bool text_is_utf8(const char *s, size_t len)
{
    size_t at = 0, n;

    while (at < len) {
        n = text_step(s + at, len - at);
        if (!n)
            return false;
        at += n;
    }
    return true;
}

bool text_is_variable(const char *s, size_t max)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

    return n && n <= max && !s[n] && !(*s >= '0' && *s <= '9');
}

size_t text_characters(const char *s, size_t len)
{
    size_t n = 0, i;

    for (i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xC0) != 0x80; /* counts all bytes but continuation bytes */
    return n;
}

void text_make_utf8(char *s)
{
    size_t len = strlen(s), at = 0, n;

    for (; at < len; at += n ? n : 1)
        if (!(n = text_step(s + at, len - at)))
            s[at] = '?';
}

/* Whether the character is one of U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069,
 * which change the direction of writing. */
static bool is_bidi(const unsigned char *c, size_t n)
{
    if (n == 2)
        return c[0] == 0xD8 && c[1] == 0x9C;
    if (n != 3 || c[0] != 0xE2)
        return false;
    if (c[1] == 0x80)
        return c[2] == 0x8E || c[2] == 0x8F || (c[2] >= 0xAA && c[2] <= 0xAE);
    return c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9;
}

bool text_is_hidden(const char *s, size_t n)
{
    const unsigned char *c = (const unsigned char *)s;

    /* A single byte of 0x80 or more is not UTF-8, and an 8-bit terminal may take it for a
     * control character. */
    if (n == 1)
        return c[0] < 0x20 || c[0] >= 0x7F;
    return (n == 2 && c[0] == 0xC2 && c[1] < 0xA0) || is_bidi(c, n);
}

int text_check(const char *what, const char *s, size_t max, struct err *err)
{
    size_t len = s ? strlen(s) : 0;

    if (s && !len)
        return err_set(err, E_INVALID, "the %s is empty", what);
    if (len > max)
        return err_set(err, E_INVALID, "the %s is %zu bytes long; at most %zu are allowed", what,
                       len, max);
    if (s && !text_is_utf8(s, len))
        return err_set(err, E_INVALID, "the %s is not valid UTF-8", what);
    return 0;
}

int text_check_name(const char *what, const char *s, size_t max, struct err *err)
{
    size_t n;

    TRY(text_check(what, s, max, err));
    for (size_t at = 0; s && s[at]; at += n) {
        n = text_step(s + at, strnlen(s + at, 4));
        if (text_is_hidden(s + at, n))
            return err_set(err, E_INVALID,
                           "the %s contains a control character or a bidirectional formatting "
                           "character: remove it",
                           what);
    }
    return 0;
}

char *text_time(int64_t us, char *out)
{
    time_t secs = (time_t)(us / 1000000);
    int frac = (int)(us % 1000000);
    struct tm tm;

    if (frac < 0) {
        frac += 1000000;
        secs--;
    }
    gmtime_r(&secs, &tm);
    snprintf(out, TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
             (tm.tm_year + 1900) % 10000, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
             tm.tm_sec, frac);
    return out;
}

const char *text_time_of_day(const char *time)
{
    return time + strnlen(time, sizeof("2026-01-31T") - 1);
}

/* Parses exactly n digits as a number of at most `max`; moves *s past them. */
static bool parse_digits(const char **s, int n, int max, int *out)
{
    for (*out = 0; n; n--, ++*s) {
        if (**s < '0' || **s > '9')
            return false;
        *out = *out * 10 + (**s - '0');
    }
    return *out <= max;
}

static bool parse_char(const char **s, char c)
{
    if (**s != c)
        return false;
    ++*s;
    return true;
}

/* Parses a fraction of a second, a point and digits, as µs. The fraction may be missing. */
static bool parse_fraction(const char **s, int64_t *us)
{
    int64_t unit = 100000;

    *us = 0;
    if (!parse_char(s, '.'))
        return true;
    if (**s < '0' || **s > '9')
        return false;
    for (; **s >= '0' && **s <= '9'; ++*s, unit /= 10)
        *us += (**s - '0') * unit;
    return true;
}

/* Parses a time zone, which is Z, +hh:mm, -hh:mm or missing, as seconds east of UTC. */
static bool parse_zone(const char **s, int64_t *zone)
{
    int sign = **s == '-' ? -1 : 1, h, m;

    *zone = 0;
    if (!**s || parse_char(s, 'Z'))
        return true;
    if ((!parse_char(s, '+') && !parse_char(s, '-')) || !parse_digits(s, 2, 23, &h) ||
        !parse_char(s, ':') || !parse_digits(s, 2, 59, &m))
        return false;
    *zone = sign * (h * 3600 + m * 60);
    return true;
}

static bool parse_date(const char **s, struct tm *tm)
{
    return parse_digits(s, 4, 9999, &tm->tm_year) && parse_char(s, '-') &&
           parse_digits(s, 2, 12, &tm->tm_mon) && parse_char(s, '-') &&
           parse_digits(s, 2, 31, &tm->tm_mday);
}

static bool parse_clock(const char **s, struct tm *tm, int64_t *frac, int64_t *zone)
{
    return parse_digits(s, 2, 23, &tm->tm_hour) && parse_char(s, ':') &&
           parse_digits(s, 2, 59, &tm->tm_min) && parse_char(s, ':') &&
           parse_digits(s, 2, 59, &tm->tm_sec) && parse_fraction(s, frac) && parse_zone(s, zone);
}

/* The range of times that text_time can write, 0000-01-01 to 9999-12-31: it writes years with four
 * digits. */
#define FIRST_SECOND (-62167219200LL)
#define LAST_SECOND  253402300799LL

int text_parse_time(const char *s, int64_t *us, struct err *err)
{
    struct tm tm = {0}, normalized;
    int64_t secs, frac = 0, zone = 0;
    const char *p = s;

    if (*p == '@') {
        if (text_parse_i64(p + 1, &secs) || secs < FIRST_SECOND || secs > LAST_SECOND)
            goto bad;
        *us = secs * 1000000;
        return 0;
    }
    if (!parse_date(&p, &tm))
        goto bad;
    if ((parse_char(&p, 'T') || parse_char(&p, ' ')) && !parse_clock(&p, &tm, &frac, &zone))
        goto bad;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    normalized = tm;
    secs = (int64_t)timegm(&normalized); /* timegm turns February 30 into March 2 */
    if (*p || normalized.tm_mday != tm.tm_mday || normalized.tm_mon != tm.tm_mon)
        goto bad;
    secs -= zone;
    if (secs < FIRST_SECOND || secs > LAST_SECOND)
        goto bad;
    *us = secs * 1000000 + frac;
    return 0;
bad:
    return err_set(
        err, E_INVALID,
        "'%.60s' is not a time: write it as 2026-01-31, 2026-01-31T14:00:00Z or @SECONDS", s);
}

static const struct {
    const char *text;
    int64_t us;
} units[] = {{"us", 1},       {"ms", 1000},        {"s", 1000000},
             {"m", 60000000}, {"h", 3600000000LL}, {"d", 86400000000LL}};

int text_parse_duration(const char *s, int64_t *us, struct err *err)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(s, &end, 10);
    if (end != s && !errno && n >= 0 && *s >= '0' && *s <= '9')
        for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
            if (!strcmp(end, units[i].text) && n <= INT64_MAX / 4 / units[i].us) {
                *us = n * units[i].us;
                return 0;
            }
    return err_set(
        err, E_INVALID,
        "'%.60s' is not a duration: write a number and a unit, such as 250ms, 30s, 5m, 2h or 90d",
        s);
}

char *text_exact_duration(int64_t us, char *out)
{
    size_t i = sizeof(units) / sizeof(*units) - 1;

    if (!us)
        return memcpy(out, "0s", sizeof("0s"));
    while (us % units[i].us)
        i--;
    snprintf(out, DURATION_TEXT_SIZE, "%lld%s", (long long)(us / units[i].us), units[i].text);
    return out;
}

char *text_duration(int64_t us, char *out)
{
    double s = (double)us / 1e6;

    if (us < 0)
        snprintf(out, DURATION_TEXT_SIZE, "-");
    else if (s < 1)
        snprintf(out, DURATION_TEXT_SIZE, "%.1f ms", s * 1e3);
    else if (s < 60)
        snprintf(out, DURATION_TEXT_SIZE, "%.1f s", s);
    else if (s < 3600)
        snprintf(out, DURATION_TEXT_SIZE, "%d m %d s", (int)(s / 60), (int)s % 60);
    else if (s < 86400)
        snprintf(out, DURATION_TEXT_SIZE, "%d h %d m", (int)(s / 3600), (int)(s / 60) % 60);
    else
        snprintf(out, DURATION_TEXT_SIZE, "%d d %d h", (int)(s / 86400), (int)(s / 3600) % 24);
    return out;
}

int text_parse_i64(const char *s, int64_t *n)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(s, &end, 10);
    if (end == s || *end || errno || (*s != '-' && (*s < '0' || *s > '9')))
        return -1;
    *n = v;
    return 0;
}

uint64_t text_hash(const char *s)
{
    uint64_t h = 14695981039346656037ULL;

    for (; s && *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211ULL;
    return h;
}

void text_label(struct buf *b, const char *s)
{
    size_t n;

    for (; *s; s += n) {
        n = text_step(s, strnlen(s, 4));
        n += !n;
        if (*s == '"' || *s == '\\')
            buf_addch(b, '\\');
        if (*s == '\n')
            buf_addstr(b, "\\n");
        else if (text_is_hidden(s, n))
            buf_addstr(b, "\xEF\xBF\xBD");
        else
            buf_add(b, s, n);
    }
}
