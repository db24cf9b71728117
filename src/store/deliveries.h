/* deliveries.h - what the jobs that report ends of executions to webhooks have in common. They are
 * submitted by workflow/deliveries.c, and run by api/hook_deliver.c. */
#ifndef STORE_DELIVERIES_H
#define STORE_DELIVERIES_H

#define QUEUE_HOOKS      "pawl:hooks"
#define FUNCTION_HOOKS   "pawl:deliver" /* their lane is "function:" and this name */
#define DELIVERY_RETRIED 75             /* the exit code of an attempt that may succeed later */

#endif
