/* fuzz_config.c - pawl.yaml. */
#include "fuzz.h"

#include "flow/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct config_host host = {
        .folder = "/here", .home = "/home/ada", .processors = 4};
    struct problems problems = PROBLEMS_INIT;
    struct config *config = NULL;
    struct err err = ERR_INIT;
    int rc = config_parse(problems_take(&problems, "f.yaml", (const char *)data, size), &host,
                          &problems, &config, &err);

    fuzz_problems(&problems, rc, &err);
    if (!rc) {
        HOLDS(config->worker.slots > 0 && config->worker.heartbeat < config->worker.lease);
        HOLDS(config_executor(config, "process"));
    }
    config_free(&config);
    problems_release(&problems);
    return 0;
}
