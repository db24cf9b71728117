/* fuzz_config.c - pawl.yaml. */
#include "fuzz.h"

#include "parse/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct config_host host = {
        .folder = "/here", .home = "/home/ada", .processors = 4};
    struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    struct config *config = NULL;
    struct err err = ERR_INIT;
    int rc = config_parse(diagnostics_take(&diagnostics, "f.yaml", (const char *)data, size), NULL,
                          &host, &diagnostics, &config, &err);

    fuzz_diagnostics(&diagnostics, rc, &err);
    if (!rc) {
        MUST_HOLD(config->worker.slots > 0 && config->worker.heartbeat < config->worker.lease);
        MUST_HOLD(config_executor(config, "process"));
    }
    config_free(&config);
    diagnostics_release(&diagnostics);
    return 0;
}
