"use strict";
/* graphile-thread.js - one thread of graphile.js: the adder, or a runner. It only measures and counts.
 * Times are process.hrtime, which all threads of a process share. */

const { parentPort, workerData } = require("node:worker_threads");
const { EventEmitter, once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");
const pg = require("pg");
const { run, Logger } = require("graphile-worker");

const { role, url, jobs, settings, ran, deleted } = workerData;
const say = (kind, more) => parentPort.postMessage({ kind, ...more });
const now = () => process.hrtime.bigint();

/* For each message, a promise that resolves when the main thread sends it. */
const heard = Object.fromEntries(["go", "stop"].map((kind) => [
  kind,
  new Promise((resolve) => parentPort.on("message", (message) => message === kind && resolve())),
]));

/* Like Graphile's own addJobs, except that the rows are counted instead of returned. */
const ADD = {
  name: "add",
  text: `select count(*)::int as n from graphile_worker.add_jobs(array(
           select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
};

async function add() {
  const clients = Array.from({ length: settings.addConnections }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((c) => c.connect()));
  say("ready");
  await heard.go;
  const start = now();
  const limited = settings.mode === "together" && settings.backlog > 0;
  let next = 0;
  const addAll = async (client) => {
    while (next < jobs) {
      if (limited && next - Atomics.load(deleted, 0) >= settings.backlog) {
        await sleep(1);
        continue;
      }
      const from = next;
      next = Math.min(jobs, from + settings.addBatch);
      const specs = Array.from({ length: next - from }, (_, i) => ({ identifier: "noop", payload: { n: from + i } }));
      const { rows } = await client.query({ ...ADD, values: [JSON.stringify(specs)] });
      if (rows[0].n !== specs.length) throw new Error(`${rows[0].n} of ${specs.length} jobs were added`);
    }
  };
  await Promise.all(clients.map(addAll));
  say("done", { start, end: now() });
  await Promise.all(clients.map((c) => c.end()));
}

/* Counts the completed jobs that the deletes of this pool report, and calls finish after the last one. */
function watchDeletes(pool, finish) {
  pool.on("connect", (client) => {
    const query = client.query;
    client.query = function (config, ...rest) {
      const answer = query.call(this, config, ...rest);
      if (!config?.name?.startsWith("complete_job")) return answer;
      return answer.then((result) => {
        const total = Atomics.add(deleted, 0, result.rowCount) + result.rowCount;
        if (total >= jobs) finish();
        return result;
      });
    };
  });
}

async function runJobs() {
  const pool = new pg.Pool({ connectionString: url, max: settings.maxPoolSize });
  pool.on("error", (e) => console.error(e.message));
  watchDeletes(pool, () => say("done", { end: now() }));
  const idle = await Promise.all(Array.from({ length: settings.maxPoolSize }, () => pool.connect()));
  for (const client of idle) client.release();

  const events = new EventEmitter();
  const fail = (what) => ({ error }) => setImmediate(() => { throw new Error(`${what}: ${error.message}`); });
  events.on("job:error", fail("job"));
  events.on("worker:fatalError", fail("worker"));
  events.on("worker:getJob:error", fail("claim"));
  events.on("pool:create", () => say("started", { start: now() }));

  const listening = once(events, "pool:listen:success");
  if (settings.mode === "apart") {
    say("ready");
    await heard.go;
  }
  const runner = await run({
    pgPool: pool,
    noHandleSignals: true,
    logger: new Logger(() => (level, message) => level === "error" && console.error(message)),
    events,
    taskList: { noop: ({ n }) => void Atomics.add(ran, n, 1) },
    parsedCronItems: [],
    preset: {
      worker: {
        concurrentJobs: settings.concurrentJobs,
        completeJobBatchDelay: settings.completeJobBatchDelay,
        failJobBatchDelay: settings.failJobBatchDelay,
        localQueue: { size: settings.localQueueSize },
      },
    },
  });
  await listening;
  if (settings.mode === "together") say("ready");
  await heard.stop;
  await runner.stop();
  await pool.end();
}

(role === "add" ? add() : runJobs()).then(() => process.exit(0));
