/* text.c - see text.h. */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Length of the well-formed sequence at s, 0 if there is none. */
static size_t utf8_step(const unsigned char *s, size_t left)
{
    unsigned char c = s[0], lo = 0x80, hi = 0xBF;
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
    if (c == 0xE0) /* the second byte's range keeps out overlong forms, surrogates and > U+10FFFF */
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
        n = utf8_step((const unsigned char *)s + at, len - at);
        if (!n)
            return false;
        at += n;
    }
    return true;
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

/* Digits after the point, as µs; moves *s past them. */
static int64_t parse_fraction(const char **s)
{
    int64_t us = 0;
    int digits = 0;

    if (**s != '.')
        return 0;
    for (++*s; **s >= '0' && **s <= '9'; ++*s)
        if (digits < 6) {
            us = us * 10 + (**s - '0');
            digits++;
        }
    for (; digits < 6; digits++)
        us *= 10;
    return us;
}

int text_parse_time(const char *s, int64_t *us, struct err *err)
{
    struct tm tm = {0};
    int64_t secs, frac = 0, zone = 0;
    int n = 0, zh, zm;
    const char *p = s;
    bool date =
        sscanf(p, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &n) == 3 && n == 10;

    if (*p == '@' && !text_parse_i64(p + 1, &secs)) {
        *us = secs * 1000000;
        return 0;
    }
    if (!date)
        goto bad;
    p += n;
    if (*p == 'T' || *p == ' ') {
        n = 0;
        if (sscanf(++p, "%2d:%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 3 || n != 8)
            goto bad;
        p += n;
        frac = parse_fraction(&p);
        if (*p == 'Z') {
            p++;
        } else if ((*p == '+' || *p == '-') && sscanf(p + 1, "%2d:%2d", &zh, &zm) == 2) {
            zone = (*p == '-' ? -1 : 1) * (zh * 3600 + zm * 60);
            p += strlen(p) < 6 ? strlen(p) : 6;
        } else if (*p) {
            goto bad;
        }
    }
    if (*p || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
        tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        goto bad;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    secs = (int64_t)timegm(&tm) - zone;
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
    size_t i;
    long long n;

    errno = 0;
    n = strtoll(s, &end, 10);
    if (end != s && !errno && n >= 0 && *s >= '0' && *s <= '9')
        for (i = 0; i < sizeof(units) / sizeof(*units); i++)
            if (!strcmp(end, units[i].text) && n <= INT64_MAX / 4 / units[i].us) {
                *us = n * units[i].us;
                return 0;
            }
    return err_set(
        err, E_INVALID,
        "'%.60s' is not a duration: write a number and a unit, such as 250ms, 30s, 5m, 2h or 90d",
        s);
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
    if (end == s || *end || errno || *s == ' ')
        return -1;
    *n = v;
    return 0;
}
