/* cmd_metrics.c - pawl metrics: prints metrics as Prometheus text, or as one JSON object per
 * sample. */
#include "cli/cli.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* Reads a label's value and removes its escapes; `at` points after the opening quote. Returns
 * the position after the closing quote. */
static const char *read_label_value(const char *at, struct buf *out)
{
    buf_reset(out);
    for (; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++, buf_addch(out, *at == 'n' ? '\n' : *at);
        else
            buf_addch(out, *at);
    }
    return *at ? at + 1 : at;
}

/* Prints a sample line, name{label="value",…} number, as JSON. */
static void print_sample(const char *line)
{
    size_t name = strcspn(line, "{ ");
    const char *at = line + name;
    AUTO_BUF b = BUF_INIT, text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&b);

    json_write_begin(&w, '{');
    buf_add(&text, line, name);
    json_field_text(&w, "metric", text.ptr);
    json_write_key(&w, "labels");
    json_write_begin(&w, '{');
    while (*at == '{' || *at == ',') {
        size_t key = strcspn(at + 1, "=");

        buf_reset(&text);
        buf_add(&text, at + 1, key);
        json_write_key(&w, buf_cstr(&text));
        at = read_label_value(at + 1 + key + 2, &text);
        json_write_text(&w, buf_cstr(&text));
    }
    json_write_end(&w, '}');
    json_write_key(&w, "value");
    json_write_raw(&w, strchr(at, ' ') + 1);
    json_write_end(&w, '}');
    puts(b.ptr);
}

static void print_samples(char *text)
{
    char *line, *end;

    for (line = text; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line != '#')
            print_sample(line);
    }
}

static int metrics(struct cli *c)
{
    AUTO_FREE char *text = NULL;

    TRY(pawl_metrics(c->p, &text, &c->err));
    if (c->json)
        print_samples(text);
    else
        fputs(text, stdout);
    return 0;
}

const struct command command_metrics = {
    .name = "metrics",
    .forms = "",
    .text = "print metrics in the Prometheus text format",
    .examples = {{"pawl metrics >/var/lib/node_exporter/pawl.prom", "for the textfile collector"}},
    .run = metrics,
    .opens = true,
    .reads = true,
};
