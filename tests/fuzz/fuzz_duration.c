/* fuzz_duration.c - durations, times and numbers. */
#include "fuzz.h"

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), shown[DURATION_TEXT_SIZE], time[TIME_TEXT_SIZE];
    struct err err = ERR_INIT;
    int64_t us, again;

    if (text_parse_duration(text, &us, &err)) {
        MUST_HOLD(*err.msg);
    } else {
        MUST_HOLD(us >= 0);
        MUST_HOLD(*text_duration(us, shown));
    }
    err = (struct err)ERR_INIT;
    if (text_parse_time(text, &us, &err)) {
        MUST_HOLD(*err.msg);
    } else {
        text_time(us, time);
        MUST_HOLD(!text_parse_time(time, &again, &err) && again == us);
    }
    if (!text_parse_i64(text, &us)) {
        snprintf(shown, sizeof(shown), "%lld", (long long)us);
        MUST_HOLD(!text_parse_i64(shown, &again) && again == us);
    }
    free(text);
    return 0;
}
