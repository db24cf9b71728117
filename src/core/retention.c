/* retention.c - writes and reads the setting of how long executions and logs are kept; see
 * retention.h. */
#include "core/retention.h"

#include "base/json.h"
#include "base/json_read.h"

#include <string.h>

static int check_days(const char *what, int days, struct err *err)
{
    if (days >= 0 && days <= RETENTION_DAYS_MAX)
        return 0;
    return err_set(err, E_INVALID, "%s can be kept for 1 to %d days, or forever, not for %d days",
                   what, RETENTION_DAYS_MAX, days);
}

int retention_check(struct retention_policy *p, struct err *err)
{
    TRY(check_days("executions", p->execution_days, err));
    TRY(check_days("logs", p->log_days, err));
    if (p->execution_days && p->log_days > p->execution_days)
        return err_set(err, E_INVALID,
                       "logs can't be kept for %d days: they are removed with their executions "
                       "after %d days",
                       p->log_days, p->execution_days);
    if (p->log_days == p->execution_days)
        p->log_days = 0;
    return 0;
}

static int read_days(const struct json_node *doc, const char *key, int *out, struct err *err)
{
    struct json_node node;
    int64_t days = 0;

    if (json_read_member(doc, key, &node))
        TRY(json_read_i64(&node, 1, RETENTION_DAYS_MAX, &days, err));
    *out = (int)days;
    return 0;
}

int retention_read(const char *json, struct retention_policy *out, struct err *err)
{
    AUTO_JSON_NODE doc = {0};

    TRY(json_read_open(json, strlen(json), 1000, "the stored retention", &doc, err));
    TRY(read_days(&doc, "execution_days", &out->execution_days, err));
    return read_days(&doc, "log_days", &out->log_days, err);
}

char *retention_write(const struct retention_policy *p)
{
    AUTO_BUF out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);

    json_write_begin(&w, '{');
    if (p->execution_days)
        json_field_i64(&w, "execution_days", p->execution_days);
    if (p->log_days)
        json_field_i64(&w, "log_days", p->log_days);
    json_write_end(&w, '}');
    return mem_strdup(buf_cstr(&out));
}
