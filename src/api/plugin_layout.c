/* plugin_layout.c - checks, at compile time, the layout of the structures that plugins exchange
 * with the engine. It has no code. */
#include "exec/function/function.h"
#include "pawl.h"

#include <stddef.h>

/* ---- pawl.h and function.h must agree ---- */

#define SAME(outer, inner, member)                                                                 \
    _Static_assert(offsetof(struct outer, member) == offsetof(struct inner, member) &&             \
                       sizeof(((struct outer *)0)->member) == sizeof(((struct inner *)0)->member), \
                   "pawl.h and exec/function/function.h differ")
SAME(pawl_call, function_call, ops);
SAME(pawl_call, function_call, name);
SAME(pawl_call, function_call, input);
SAME(pawl_call, function_call, execution);
SAME(pawl_call, function_call, root);
SAME(pawl_call, function_call, attempt);
SAME(pawl_call, function_call, max_attempts);
SAME(pawl_call_ops, function_call_ops, cancelled);
SAME(pawl_call_ops, function_call_ops, remaining);
SAME(pawl_call_ops, function_call_ops, set_output);
SAME(pawl_call_ops, function_call_ops, set_result);
SAME(pawl_call_ops, function_call_ops, log);
SAME(pawl_call_ops, function_call_ops, fail);
SAME(pawl_call_ops, function_call_ops, defer);
SAME(pawl_plugin_host, function_plugin_host, abi);
SAME(pawl_plugin_host, function_plugin_host, add);
SAME(pawl_plugin_host, function_plugin_host, data);
SAME(pawl_plugin_host, function_plugin_host, add_executor);
SAME(pawl_plugin_host, function_plugin_host, report);
_Static_assert(PAWL_PLUGIN_ABI == FUNCTION_PLUGIN_ABI,
               "pawl.h and exec/function/function.h differ");

/* ---- the layout must be that of PAWL_PLUGIN_ABI ---- */

/* A plugin keeps the layout that it was compiled with, and the engine copies its structures whole.
 * Every change here needs a new PAWL_PLUGIN_ABI, even a member that is added at the end: the engine
 * would read that member beyond the end of an older plugin's structure, and if pawl_command or
 * pawl_attempt grows, the members of pawl_task that follow it move. The numbers are those of 64-bit
 * hosts. */
#define RAISE "the layout of a plugin's structure has changed: raise PAWL_PLUGIN_ABI"
#define SIZE(type, bytes) \
    _Static_assert(sizeof(void *) != 8 || sizeof(struct type) == (bytes), RAISE)
#define AT(type, member, offset) \
    _Static_assert(sizeof(void *) != 8 || offsetof(struct type, member) == (offset), RAISE)
_Static_assert(PAWL_PLUGIN_ABI == 2, "update the numbers below with the version");

SIZE(pawl_attempt, 24);
AT(pawl_attempt, to, 0);
AT(pawl_attempt, execution, 8);
AT(pawl_attempt, attempt, 16);

SIZE(pawl_command, 120);
AT(pawl_command, run, 0);
AT(pawl_command, shell, 8);
AT(pawl_command, argv, 16);
AT(pawl_command, cwd, 24);
AT(pawl_command, input, 32);
AT(pawl_command, user, 40);
AT(pawl_command, env, 48);
AT(pawl_command, secrets, 56);
AT(pawl_command, outputs, 64);
AT(pawl_command, timeout, 72);
AT(pawl_command, grace, 80);
AT(pawl_command, memory, 88);
AT(pawl_command, cpu, 96);
AT(pawl_command, files, 104);
AT(pawl_command, pids, 108);
AT(pawl_command, input_files, 112);

SIZE(pawl_task, 272);
AT(pawl_task, id, 0);
AT(pawl_task, root, 24);
AT(pawl_task, epoch, 32);
AT(pawl_task, max_attempts, 36);
AT(pawl_task, name, 40);
AT(pawl_task, input, 48);
AT(pawl_task, spec, 56);
AT(pawl_task, command, 64);
AT(pawl_task, lease_until, 184);
AT(pawl_task, parent, 192);
AT(pawl_task, workflow, 200);
AT(pawl_task, workflow_name, 208);
AT(pawl_task, task_name, 216);
AT(pawl_task, index, 224);
AT(pawl_task, item, 232);
AT(pawl_task, queue, 240);
AT(pawl_task, tenant, 248);
AT(pawl_task, priority, 256);
AT(pawl_task, deadline, 264);

SIZE(pawl_error, 1136);
AT(pawl_error, code, 0);
AT(pawl_error, message, 4);
AT(pawl_error, missing, 1028);
AT(pawl_error, name, 1032);

SIZE(pawl_executor, 104);
AT(pawl_executor, key, 0);
AT(pawl_executor, data, 8);
AT(pawl_executor, slots, 16);
AT(pawl_executor, outlives_worker, 20);
AT(pawl_executor, start, 24);
AT(pawl_executor, find, 32);
AT(pawl_executor, cancel, 40);
AT(pawl_executor, forget, 48);
AT(pawl_executor, renewed, 56);
AT(pawl_executor, settled, 64);
AT(pawl_executor, capacity, 72);
AT(pawl_executor, fd, 80);
AT(pawl_executor, poll, 88);
AT(pawl_executor, free, 96);

SIZE(pawl_end, 64);
AT(pawl_end, outcome, 0);
AT(pawl_end, has_exit_code, 4);
AT(pawl_end, exit_code, 8);
AT(pawl_end, signal, 12);
AT(pawl_end, result, 16);
AT(pawl_end, error, 24);
AT(pawl_end, duration, 32);
AT(pawl_end, cpu, 40);
AT(pawl_end, peak_memory, 48);
AT(pawl_end, retry_delay, 56);

SIZE(pawl_report_ops, 24);
AT(pawl_report_ops, started, 0);
AT(pawl_report_ops, log, 8);
AT(pawl_report_ops, ended, 16);
