"""round.py - one round: a new database, workers, submitters and faults for some seconds; then the faults stop, everything must end,
and the oracle judges."""
import json
import os
import random
import shutil
import tempfile
import time

import databases
import ledger
import oracle
import programs
from faults import Faults
from oracle import Facts, Violation
from workers import Host, Workers
from workload import Clients, Workload

HERE = os.path.dirname(os.path.abspath(__file__))
WORKERS = 3        # on each host
PAUSE = 0.10       # mean time between faults, in seconds
PATIENCE = 90      # a round without any progress for this number of seconds counts as hung


class Setup:
    """The objects and paths that scenarios, faults and submitters of one round share."""

    def __init__(self, build, database, work):
        self.folder = tempfile.mkdtemp(prefix='chaos.', dir=work)
        os.chmod(self.folder, 0o755)  # the server's user must be able to enter it
        self.programs = programs.Programs(build, self.folder)
        programs.compile_jobs(HERE, os.path.join(HERE, '..', '..', 'include'), self.folder)
        for name in os.listdir(os.path.join(HERE, 'workflows')):
            shutil.copy(os.path.join(HERE, 'workflows', name), self.folder)
        self.ledger = os.path.join(self.folder, 'ledger')
        self.database_folder = os.path.join(self.folder, 'database')
        self.database_name = database
        self.lease = 4
        self.state_folder = os.path.join(self.folder, 'state')
        self.hosts, self.database = [], None

    def write_config(self, worker):
        """Writes a configuration for each copy of the programs; clients use the first."""
        self.config = {}
        keys = ', '.join(f'{k}: {v}' for k, v in {'lease': f'{self.lease}s', 'drain_grace': '2s', **worker}.items())
        for copy in 'ab':
            self.config[copy] = os.path.join(self.folder, f'pawl.{copy}.yaml')
            with open(self.config[copy], 'w') as f:
                f.write(f'worker: {{{keys}}}\n'
                        'retry: {delay: 100ms, backoff: 1.5, max_delay: 1s}\n'
                        f'plugins: [{os.path.join(self.folder, "function.so")}]\n'
                        f'executors: {{process: {{shim: {self.programs.shim(copy)}, grace: 1s}}}}\n')

    def environment(self):
        return {'PAWL_DB': self.database.url, 'PAWL_CONFIG': self.config['a']}


class Round:
    def __init__(self, build, database, scenario_class, seed, seconds, work):
        self.seed, self.seconds = seed, seconds
        self.rng = random.Random(f'{seed} faults')
        self.setup = Setup(build, database, work)
        self.scenario = scenario_class(self.setup)
        self.facts = Facts(severed=scenario_class.severed)
        self.violations, self.phases = [], {}
        self.workers = None
        self.rows, self.ledger = [], ledger.Ledger([])

    def play(self):
        """Returns the record of the round. Skip passes through."""
        started = time.monotonic()
        try:
            for phase in (self.prepare, self.disturb, self.settle, self.judge):
                since = time.monotonic()
                phase()
                self.phases[phase.__name__] = round(time.monotonic() - since, 1)
            if self.violations:
                self.save_evidence()
        finally:
            if self.workers:
                self.workers.end()
            self.end_leftovers()
            self.scenario.clean()
            if self.setup.database:
                self.setup.database.stop()
        return self.record(time.monotonic() - started)

    def prepare(self):
        setup = self.setup
        self.scenario.prepare()
        os.makedirs(setup.database_folder, exist_ok=True)
        setup.database = (databases.SQLite(setup.database_folder) if setup.database_name == 'sqlite' else
                          databases.PostgreSQL(setup.database_folder, self.scenario.settings))
        setup.database.start()
        setup.hosts = [Host('one', setup.state_folder)]
        self.scenario.started()
        setup.write_config(self.scenario.config)
        self.clients = Clients(setup.environment, setup.folder)
        self.pawl('admin', 'migrate')
        if setup.database.name == 'postgres':
            for name in oracle.SHAPES:
                self.pawl('apply', f'{name}.flow.yaml')
        self.workers = Workers(setup.programs, setup.hosts, WORKERS, setup.config, lambda: setup.database.url, setup.folder)
        self.workload = Workload(setup, self.clients, self.seed)
        self.faults = Faults(setup, self.workers, self.clients, self.facts, self.rng)
        self.scenario.add(self.faults)

    def pawl(self, *words):
        """A command that must succeed."""
        code, out, errors = self.clients.run([self.setup.programs.pawl(), *words], gated=False)
        if code:
            raise RuntimeError(f'pawl {" ".join(words)} exited with {code}: {errors}')
        return out

    def disturb(self):
        self.workers.start()
        self.workload.start()
        middle = time.monotonic() + self.seconds / 2
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(self.rng.expovariate(1 / PAUSE))
            self.faults.undo_due()
            self.faults.one()
            if middle and time.monotonic() > middle:
                middle = None
                self.scenario.middle(self)
        self.faults.undo_due(everything=True)
        self.scenario.heal()
        self.setup.database.ensure_running()

    def settle(self):
        """Waits until submitters, executions, workers and processes have ended, and records those that do not end."""
        for name in self.workload.stop():
            self.add('hung', f'{name} does not end')
        self.wait_for_end()
        for text in self.workers.stop():
            self.add('hung', text)
        self.wait_for_processes()

    def wait_for_end(self):
        last, since = None, time.monotonic()
        while True:
            try:
                still_open = databases.count_open(self.setup.database)
            except databases.Unavailable as e:
                still_open = str(e)
            if still_open == 0:
                return
            progress = (still_open, os.path.getsize(self.setup.ledger) if os.path.exists(self.setup.ledger) else 0)
            if progress != last:
                last, since = progress, time.monotonic()
            if time.monotonic() - since > PATIENCE:
                self.add('hung', f'{still_open} executions are open and nothing happens')
                return
            time.sleep(0.3)

    def wait_for_processes(self):
        end = time.monotonic() + 20
        while programs.processes(self.setup.folder) and time.monotonic() < end:
            time.sleep(0.1)

    def judge(self):
        setup = self.setup
        self.ledger = ledger.Ledger(ledger.read(setup.ledger))
        self.facts.dead_workers = self.workers.dead
        self.rows = databases.executions(setup.database)
        self.violations += oracle.judge(self.workload.submissions, self.rows, databases.released_attempts(setup.database),
                                        self.ledger, self.facts)
        for process in programs.processes(setup.folder):
            self.add('leaked', f'process {process.pid} is left: {process.program}')
        for path in programs.leftover_cgroups(self.ledger.keys()):
            self.add('leaked', f'the cgroup {path} is left')
        for text in self.workers.crashes + self.clients.crashes:
            self.add('crashed', text)
        for text in self.workload.odd:
            self.add('untrue', text)
        self.verify()
        for host in setup.hosts:
            self.verify('--host', '--state', host.state)

    def verify(self, *options):
        code, out, errors = self.clients.run([self.setup.programs.pawl(), 'verify', '--lease', f'{self.setup.lease}s', *options])
        if code:
            self.add('verify', f'pawl verify {" ".join(options)}: {out[-500:]} {errors[-500:]}')

    def add(self, kind, text):
        self.violations.append(Violation(kind, text))

    def save_evidence(self):
        """Writes the executions and events into files, because the database is removed after the round."""
        schema = self.setup.database.schema
        for view, order in (('pawl_executions', 'id'), ('pawl_events', 'sequence_num')):
            with open(os.path.join(self.setup.folder, f'{view}.json'), 'w') as f:
                for row in self.setup.database.query(f'SELECT * FROM {schema}{view} ORDER BY {order}'):
                    print(json.dumps(row), file=f)

    def end_leftovers(self):
        """Ends only processes of this round: their programs lie in its folder."""
        for _ in range(50):
            left = programs.processes(self.setup.folder)
            for process in left:
                programs.send_signal(self.setup.folder, process.pid, 9)
            if not left:
                break
            time.sleep(0.1)

    def record(self, seconds):
        jobs = [row for row in self.rows if row['kind'] in ('task', 'exec')]
        submissions = self.workload.submissions
        return {
            'seed': self.seed, 'database': self.setup.database_name, 'scenario': self.scenario.name, 'seconds': round(seconds, 1),
            'phases': self.phases,
            'faults': {**self.faults.counts, **self.scenario.counts()},
            'executions': len(self.rows), 'jobs': len(jobs),
            'attempts': sum(row['attempt'] for row in jobs),
            'begins': len([line for line in self.ledger.lines if line.what == 'b']),
            'succeeded': sum(row['status'] == 'succeeded' for row in jobs),
            'submissions': len(submissions), 'accepted': sum(s.acked for s in submissions), **self.workload.counts,
            'worker exits': self.workers.exits,
            'violations': [v._asdict() for v in self.violations],
        }

    def remove(self):
        shutil.rmtree(self.setup.folder, ignore_errors=True)
