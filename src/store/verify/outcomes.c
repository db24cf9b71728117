/* outcomes.c - checks the data of the events that end an attempt, a workflow or a fan-out: a
 * failure has an error (I10), and a job succeeds only with the outcome ok (I17). Reads the events
 * in pages, in the order of the trees. */
#include "store/verify/verify_internal.h"

#include <jansson.h>
#include <string.h>

#define PAGE 1000 /* rows; the LIMIT of verify_outcomes */

enum { ROOT, EXECUTION, SEQ, TYPE, TO, DATA };

static void check_event(struct verify *v, const struct rows *r, size_t i)
{
    int type = (int)rows_int(r, i, TYPE), seq = (int)rows_int(r, i, SEQ);
    const char *text = rows_text(r, i, DATA), *error, *outcome;
    json_t *data = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;

    error = json_string_value(json_object_get(data, "error"));
    outcome = json_string_value(json_object_get(data, "outcome"));
    if (rows_int(r, i, TO) != S_SUCCEEDED && (!error || !*error))
        verify_violation(v, "I10", rows_int(r, i, EXECUTION), "event %d, %s, has no error", seq,
                         event_text(type));
    if (rows_int(r, i, TO) == S_SUCCEEDED &&
        (type != EV_COMPLETED || !outcome || strcmp(outcome, outcome_text(OUTCOME_OK)) != 0))
        verify_violation(v, "I17", rows_int(r, i, EXECUTION),
                         "event %d, %s, is a success without the outcome ok", seq,
                         event_text(type));
    json_decref(data);
}

int verify_outcomes(struct verify *v, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;
    int64_t root = 0, execution = 0;
    int seq = 0;

    do {
        TRY(ask(v->db, &r, err, Q_VERIFY_OUTCOMES, root, execution, seq));
        for (size_t i = 0; i < r.n; i++)
            check_event(v, &r, i);
        if (r.n)
            rows_read(&r, r.n - 1, ROOT, NULL, &root, &execution, &seq);
    } while (r.n == PAGE);
    return 0;
}
