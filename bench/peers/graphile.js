"use strict";
/* graphile.js - measures the whole life of a job in Graphile Worker: added, claimed, run, completed.
 *
 *   node graphile.js --url postgres://... [--jobs 40000] [--runs 3] [--NAME VALUE ...] [--sweep]
 *
 * Prints one JSON object per run on stdout, and progress on stderr. The database must be private: the schema
 * graphile_worker in it is dropped before each run. Every name in SETTINGS is an option; --sweep measures the list in
 * SWEEP instead, --runs times each, in turn. Exit code 1 if a job was lost, left over or run twice.
 *
 * The clocks favour the peer: they start when the connections are open and stop when the server has answered the last
 * delete, so connecting, migrating, loading modules and shutting down are not counted. In the mode "apart"
 * the life is add_s + run_s; in "together" the workers are waiting when the first batch is added, both clocks start
 * with that batch, and the life is run_s. */

const { Worker } = require("node:worker_threads");
const { parseArgs } = require("node:util");
const { once } = require("node:events");
const pg = require("pg");
const { runMigrations, Logger } = require("graphile-worker");
const { version } = require("graphile-worker/package.json");

/* The best found on two cores with PostgreSQL 15; SWEEP lists the alternatives. */
const SETTINGS = {
  mode: "together",          // add and run at the same time; "apart" adds all, then runs all
  addBatch: 1000,            // jobs in one add_jobs call, which is one transaction
  addConnections: 1,         // add_jobs calls in flight
  backlog: 20000,            // jobs alive at which adding waits, in "together"; 0 is no limit. More makes claims slow
  workers: 2,                // runners, each on its own thread with its own pool, as processes would be
  concurrentJobs: 100,       // jobs at once in each runner
  localQueueSize: 2000,
  completeJobBatchDelay: 20, // ms; -1 is one delete per job
  failJobBatchDelay: 20,
  maxPoolSize: 10,
  analyze: 0,                // 1: ANALYZE between adding and running, not counted; only in "apart"
};

const APART = { mode: "apart", addConnections: 2 };
const SWEEP = [
  {},
  { addBatch: 500 }, { addBatch: 2000 }, { addConnections: 2 }, { backlog: 0 }, { backlog: 5000 },
  { workers: 1 }, { workers: 3 }, { concurrentJobs: 24 }, { concurrentJobs: 500 }, { maxPoolSize: 5 },
  { localQueueSize: 500 }, { localQueueSize: 1000 }, { localQueueSize: 5000 },
  { completeJobBatchDelay: 0 }, { completeJobBatchDelay: 5 }, { completeJobBatchDelay: 50 },
  { workers: 1, localQueueSize: 500, addBatch: 500, completeJobBatchDelay: 0 },
  { ...APART, workers: 1, localQueueSize: 500, addBatch: 500, completeJobBatchDelay: 0 },
  APART,
  { ...APART, analyze: 1 },
  { ...APART, localQueueSize: 5000 },
  { ...APART, localQueueSize: 5000, addBatch: 2000 },
];

const RUN_LIMIT_MS = 10 * 60 * 1000;
const SCHEMA = "graphile_worker";
const quiet = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});

function options() {
  const number = Object.entries(SETTINGS).filter(([, v]) => typeof v === "number").map(([k]) => k);
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      jobs: { type: "string", default: "40000" },
      runs: { type: "string", default: "3" },
      sweep: { type: "boolean", default: false },
      ...Object.fromEntries(Object.keys(SETTINGS).map((k) => [k, { type: "string" }])),
    },
  });
  if (!values.url) throw new Error("--url is missing");
  const given = Object.fromEntries(Object.keys(SETTINGS).filter((k) => k in values).map((k) => [k, values[k]]));
  for (const k of number) if (k in given) given[k] = integer(k, given[k]);
  if (!["apart", "together"].includes(given.mode ?? SETTINGS.mode)) throw new Error("--mode is apart or together");
  return {
    url: values.url,
    jobs: integer("jobs", values.jobs),
    runs: integer("runs", values.runs),
    candidates: (values.sweep ? SWEEP : [{}]).map((s) => ({ ...SETTINGS, ...s, ...given })),
  };
}

function integer(name, text) {
  if (!/^-?\d+$/.test(text)) throw new Error(`--${name} ${text}: not a whole number`);
  return Number(text);
}

async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/* A new schema for each run, so that no run is slowed by the dead rows of the previous one. */
async function prepare(url) {
  await withClient(url, async (client) => {
    await client.query(`drop schema if exists ${SCHEMA} cascade`);
    await client.query("checkpoint");
  });
  await runMigrations({ connectionString: url, logger: quiet });
}

/* A thread of graphile-thread.js: it sends "ready", waits for "go", and sends "done" with its times.
 * A runner sends "started" when it starts to poll for jobs, and ends at "stop". */
class Thread {
  constructor(workerData) {
    this.worker = new Worker(require.resolve("./graphile-thread.js"), {
      workerData,
      env: { ...process.env, NO_LOG_SUCCESS: "1" },
    });
    this.exited = once(this.worker, "exit");
    this.ready = this.message("ready");
    this.started = this.message("started");
    this.done = this.message("done");
  }
  message(kind) {
    const heard = new Promise((resolve, reject) => {
      this.worker.on("message", (m) => m.kind === kind && resolve(m));
      this.worker.on("error", reject);
      this.exited.then(([code]) => reject(new Error(`thread ended with ${code} before it was ${kind}`)), reject);
    });
    heard.catch(() => {}); // code that awaits it gets the error; awaiting it is optional
    return heard;
  }
  tell(kind) {
    this.worker.postMessage(kind);
  }
}

async function measure(url, jobs, settings) {
  await prepare(url);
  const ran = new Uint8Array(new SharedArrayBuffer(jobs));           // how often each job ran
  const deleted = new Int32Array(new SharedArrayBuffer(4));          // rows that completion deleted, over all runners
  const shared = { url, jobs, settings, ran, deleted };
  const together = settings.mode === "together";

  const adder = new Thread({ role: "add", ...shared });
  let runners = [];
  const startRunners = async () => {
    runners = Array.from({ length: settings.workers }, () => new Thread({ role: "run", ...shared }));
    await Promise.all(runners.map((r) => r.ready));
  };
  await adder.ready;
  if (together) await startRunners();
  adder.tell("go");
  const added = await adder.done;
  if (!together) {
    if (settings.analyze) await withClient(url, (client) => client.query(`analyze ${SCHEMA}._private_jobs`));
    await startRunners();
  }
  for (const r of runners) r.tell("go");
  const last = await Promise.race(runners.map((r) => r.done));
  const starts = await Promise.all(runners.map(async (r) => (await r.started).start));
  for (const r of runners) r.tell("stop");
  await Promise.all([adder, ...runners].map((t) => t.exited));

  await verify(url, jobs, ran, deleted[0]);
  const first = together ? added.start : starts.reduce((a, b) => (a < b ? a : b));
  const add_s = seconds(added.end - added.start);
  const run_s = seconds(last.end - first);
  return { add_s, run_s, lives_per_s: Math.round(jobs / (together ? run_s : add_s + run_s)) };
}

async function verify(url, jobs, ran, deleted) {
  const left = await withClient(url, (c) => c.query(`select count(*)::int as n from ${SCHEMA}._private_jobs`));
  const wrong = ran.reduce((n, times) => n + (times !== 1), 0);
  if (left.rows[0].n !== 0) throw new Error(`${left.rows[0].n} jobs remain`);
  if (wrong) throw new Error(`${wrong} of ${jobs} jobs did not run exactly once`);
  if (deleted !== jobs) throw new Error(`${deleted} rows were deleted for ${jobs} jobs`);
}

const seconds = (ns) => Math.round(Number(ns) / 1e5) / 1e4;

function summary(results) {
  for (const { settings, rates } of results) {
    rates.sort((x, y) => x - y);
    const changed = Object.entries(settings).filter(([k, v]) => v !== SETTINGS[k]).map(([k, v]) => `${k}=${v}`);
    const spread = `${rates[rates.length >> 1]} lives/s (${rates[0]}-${rates.at(-1)})`;
    console.error(`${spread} ${changed.join(" ") || "best settings"}`);
  }
}

async function main() {
  const { url, jobs, runs, candidates } = options();
  const results = candidates.map((settings) => ({ settings, rates: [] }));
  for (let run = 0; run < runs; run++) {
    for (const { settings, rates } of results) {
      const limit = setTimeout(() => {
        console.error("a run took too long");
        process.exit(1);
      }, RUN_LIMIT_MS);
      const figures = await measure(url, jobs, settings);
      clearTimeout(limit);
      rates.push(figures.lives_per_s);
      console.log(JSON.stringify({ peer: "graphile-worker", version, jobs, ...figures, settings }));
    }
  }
  summary(results);
}

main().catch((e) => {
  console.error(`graphile.js: ${e.message}`);
  process.exit(1);
});
