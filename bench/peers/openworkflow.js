"use strict";
/* openworkflow.js - measures workflows in OpenWorkflow; see workflows.js for its usage.
 *
 * A worker in the same process claims workflows one by one and reads the steps that were done before. So a workflow
 * takes thirteen writing statements, each a transaction: one that inserts it, the claim, two per step (started and
 * done), and one that ends it. */

const { STEPS, run } = require("./workflows.js");

/* The best found on two cores with PostgreSQL 15; SWEEP lists the alternatives. With 20 to 80
 * connections the differences are no larger than those between two runs; one worker alone is clearly slower. */
const SETTINGS = {
  atOnce: 200,     // workflows at once
  pool: 20,        // connections
  workers: 4,      // each with a loop that claims; it sleeps when all its slots are taken, so several are better
  concurrency: 25, // slots of each worker
};
const SWEEP = [
  {}, { pool: 10 }, { pool: 40 }, { atOnce: 1000 }, { concurrency: 10 }, { concurrency: 50 }, { concurrency: 100 },
  { workers: 8, concurrency: 10 }, { workers: 2, concurrency: 50 }, { workers: 1, concurrency: 20 },
  { workers: 1, concurrency: 100 }, { workers: 1, concurrency: 400 },
];

async function open(url, settings) {
  const { OpenWorkflow } = await import("openworkflow");
  const { BackendPostgres } = await import("openworkflow/postgres");
  const { default: postgres } = await import("postgres");
  await (await BackendPostgres.connect(url)).stop(); // creates the tables
  const pool = postgres(url, { max: settings.pool, transform: { column: { from: postgres.toCamel } } });
  const backend = BackendPostgres.fromPool(pool);
  const ow = new OpenWorkflow({ backend });
  const workflow = ow.defineWorkflow({ name: "bench" }, async ({ step }) => {
    for (let i = 1; i <= STEPS; i++) await step.run({ name: `s${i}` }, () => null);
  });

  /* A handle polls for the result once a second; this reports the end as soon as the server has answered. */
  const waiting = new Map();
  const complete = backend.completeWorkflowRun.bind(backend);
  backend.completeWorkflowRun = async (params) => {
    const ended = await complete(params);
    finish(params.workflowRunId);
    return ended;
  };
  const finish = (id) => {
    const resolve = waiting.get(id);
    waiting.delete(id);
    if (resolve) resolve();
    else waiting.set(id, null); // it ended before its start was answered
  };
  const ended = (id) => new Promise((resolve) => {
    if (waiting.delete(id)) resolve();
    else waiting.set(id, resolve);
  });

  const workers = Array.from({ length: settings.workers }, () => ow.newWorker({ concurrency: settings.concurrency }));
  for (const worker of workers) await worker.start();
  return {
    start: async () => ended((await workflow.run({})).workflowRun.id),
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await backend.stop();
    },
  };
}

run({
  name: "openworkflow",
  of: "openworkflow",
  schema: "openworkflow",
  settings: SETTINGS,
  sweep: SWEEP,
  open,
  counts: `select (select count(*)::int from openworkflow.workflow_runs where status = 'completed') as workflows,
                  (select count(*)::int from openworkflow.step_attempts where status = 'completed') as steps`,
});
