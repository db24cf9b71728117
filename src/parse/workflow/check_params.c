/* check_params.c - checks values against the params of a workflow. */
#include "parse/workflow/reader.h"

#include "base/suggest.h"

#include <string.h>

bool reader_check_type(struct reader *r, const struct yaml *node, const char *what,
                       enum param_type type)
{
    static const struct {
        unsigned kinds;
        const char *wanted;
    } types[] = {
        [PARAM_STRING] = {1u << YAML_TEXT, "a string (put it in quotes)"},
        [PARAM_NUMBER] = {1u << YAML_INT | 1u << YAML_FLOAT, "a number"},
        [PARAM_INTEGER] = {1u << YAML_INT, "a whole number"},
        [PARAM_BOOLEAN] = {1u << YAML_BOOL, "true or false"},
        [PARAM_LIST] = {1u << YAML_LIST, "a list"},
        [PARAM_OBJECT] = {1u << YAML_MAP, "a mapping"},
    };

    return (types[type].kinds & 1u << node->kind) ||
           yaml_expected(r->doc, node, what, "%s", types[type].wanted);
}

static const struct workflow_param *find_param(const struct workflow *w, const char *name)
{
    for (size_t i = 0; i < w->nparams; i++)
        if (!strcmp(w->params[i].name, name))
            return &w->params[i];
    return NULL;
}

static void check_param_value(struct reader *r, const struct workflow *of,
                              const struct yaml_pair *p, const char *what)
{
    const struct workflow_param *param = find_param(of, p->key.text);
    struct suggestion s = suggest_for(p->key.text);
    char name[WHAT_SIZE];

    if (param) {
        /* The type of a value that is computed is known only when the workflow runs. */
        if (p->value.kind != YAML_TEXT || !strstr(p->value.text, "${{"))
            (void)reader_check_type(r, &p->value, reader_what(name, what, param->name),
                                    param->type);
        return;
    }
    for (size_t i = 0; i < of->nparams; i++)
        suggest_try(&s, of->params[i].name);
    yaml_error(r->doc, &p->key, "%s: the workflow %s has no param \"%.60s\"%s%s%s", what, of->name,
               p->key.text, DID_YOU_MEAN(s.best));
}

void reader_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                       const struct yaml *location, const char *what)
{
    for (size_t i = 0; with && with->kind == YAML_MAP && i < with->n; i++)
        check_param_value(r, of, yaml_pair(with, i), what);
    for (size_t i = 0; i < of->nparams; i++)
        if (of->params[i].required && !yaml_get(with, of->params[i].name))
            yaml_error(r->doc, location, "%s: the workflow %s requires the param \"%s\"", what,
                       of->name, of->params[i].name);
}
