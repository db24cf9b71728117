"""workload.py - submitters: threads that use Pawl as its users do, by its programs and by SQL, and record the results that
they received.

Single commands, workflows of commands and functions (chains, joins, fan-outs, nested ones), foreground runs, SQL submissions
and cancels, with and without idempotency keys. A submission without a key whose outcome is unknown is not repeated; one with
a key is repeated until it is accepted, and must become one execution."""
import json
import os
import random
import signal
import subprocess
import threading
import time

from oracle import Submission

BACKLOG = 400  # submitters wait while more jobs than this are open

TERMINATED = (-signal.SIGKILL, 128 + signal.SIGKILL)


class Clients:
    """Runs short-lived programs, and lets the faults kill one of them."""

    def __init__(self, environment, folder):
        self.environment, self.folder = environment, folder
        self.lock = threading.Lock()
        self.running, self.killed, self.crashes = {}, set(), []
        self.gate = threading.Event()  # closed while all submitters have to be stopped
        self.gate.set()

    def run(self, command, timeout=300, gated=True):
        """Returns exit code, output and errors; the code is None if the program did not end in time."""
        if gated:
            self.gate.wait()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, env={**os.environ, **self.environment()})
        with self.lock:
            self.running[process.pid] = process
        try:
            out, errors = process.communicate(timeout=timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
            code = None
            self.crashes.append(f'did not end within {timeout} s: {" ".join(command)}: {errors[-300:]}')
        with self.lock:
            del self.running[process.pid]
            killed = process.pid in self.killed
            self.killed.discard(process.pid)
        if code is not None and code < 0 and not killed:
            self.crashes.append(f'ended by signal {-code}: {" ".join(command)}: {errors[-300:]}')
        return code, out, errors

    def kill(self, rng):
        with self.lock:
            alive = [p for p in self.running.values() if p.poll() is None]
            if not alive:
                return None
            victim = rng.choice(alive)
            self.killed.add(victim.pid)
            victim.kill()
            return victim.pid

    def end_all(self):
        """Closes the gate, ends all programs and waits until their outcomes are noted."""
        self.gate.clear()
        while True:
            with self.lock:
                if not self.running:
                    return
                for process in self.running.values():
                    self.killed.add(process.pid)
                    process.kill()
            time.sleep(0.05)


class Workload:
    def __init__(self, setup, clients, seed):
        """setup has the programs, folder, hosts and database of the round."""
        self.setup, self.clients = setup, clients
        self.lock = threading.Lock()
        self.submissions, self.recent, self.odd = [], [], []
        self.counts = {'cancels': 0, 'sql': 0, 'keyed': 0, 'repeated': 0, 'foreground': 0}
        self.backlog = 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.submit_all, args=(n, seed), name=f'submitter {n}', daemon=True)
                        for n in range(3)]
        self.threads.append(threading.Thread(target=self.watch_backlog, name='backlog', daemon=True))

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self, timeout=180):
        """Waits for the submitters; returns the names of those that hang."""
        self.over.set()
        end = time.monotonic() + timeout
        for thread in self.threads:
            thread.join(max(0, end - time.monotonic()))
        return [thread.name for thread in self.threads if thread.is_alive()]

    def pawl(self, *words):
        return self.clients.run([self.setup.programs.pawl(), *words])

    def watch_backlog(self):
        while not self.over.wait(0.5):
            code, out, _ = self.pawl('queue', '--json')
            if code == 0:
                queues = [json.loads(line) for line in out.splitlines()]
                self.backlog = sum(q['ready'] + q['held'] + q['running'] for q in queues)

    def submit_all(self, number, seed):
        rng = random.Random(f'{seed} submitter {number}')
        kinds = [self.submit_command] * 8 + [self.submit_workflow] * 6 + [self.run_foreground] * 2 + [self.cancel] * 1
        if self.setup.database.name == 'postgres':
            kinds += [self.submit_by_sql] * 4
        count = 0
        while not self.over.is_set():
            if self.backlog > BACKLOG:
                time.sleep(0.05)
                continue
            count += 1
            rng.choice(kinds)(rng, f't{number}-{count}')

    # ---- the kinds of submissions ----

    def submit_command(self, rng, tag):
        self.submit(rng, tag, ['exec', '--detach', '--name', tag, *command_options(rng)], command(rng))

    def submit_workflow(self, rng, tag):
        template, params = workflow(rng, tag)
        words = [w for name, value in params.items() for w in ('--param', f'{name}={value}')]
        self.submit(rng, tag, ['submit', f'{template}.flow.yaml', *words])

    def submit_by_sql(self, rng, tag):
        template, params = workflow(rng, tag)
        key = f", key => '{tag}'" if rng.random() < 0.5 else ''
        sql = f"SELECT pawl.pawl_submit('{template}', '{json.dumps(params)}'{key})"
        self.counts['sql'] += 1
        self.repeat(tag, key != '', lambda: self.clients.run(
            ['psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-c', sql, self.setup.database.url]), expected=(0, 1, 2))

    def run_foreground(self, rng, tag):
        host = rng.choice(self.setup.hosts)
        state = ['--state', host.state]
        if rng.random() < 0.7:
            words = ['exec', *state, '--name', tag, *command_options(rng), '--', *command(rng)]
        else:
            words = ['run', 'chain.flow.yaml', *state, '--progress', 'none', '--param', f'tag={tag}', '--param', 'ms=2']
        submission = self.add(tag)
        self.counts['foreground'] += 1
        code, _, errors = self.clients.run([*host.prefix, self.setup.programs.pawl(), *words])
        submission.acked = code in (0, 1, 3, 4) and not (code == 1 and 'exit' not in errors and 'failed' not in errors)
        submission.exit_code, submission.time = code, time.monotonic()
        self.note_odd(words, code, errors, (0, 1, 3, 4, 6))

    def cancel(self, rng, _):
        with self.lock:
            target = rng.choice(self.recent[-20:]) if self.recent else None
        if target:
            self.counts['cancels'] += 1
            self.pawl('cancel', target)

    # ---- what was accepted ----

    def add(self, tag):
        submission = Submission(tag)
        with self.lock:
            self.submissions.append(submission)
        return submission

    def submit(self, rng, tag, words, command_words=()):
        keyed = rng.random() < 0.5
        words = words + (['--key', tag] if keyed else []) + (['--', *command_words] if command_words else [])
        self.repeat(tag, keyed, lambda: self.pawl(*words))

    def repeat(self, tag, keyed, attempt, expected=(0, 6)):
        submission = self.add(tag)
        self.counts['keyed'] += keyed
        give_up = None
        while True:
            code, out, errors = attempt()
            self.note_odd([tag], code, errors, expected)
            if code == 0:
                submission.acked, submission.time = True, time.monotonic()
                with self.lock:
                    self.recent.append(out.strip())
                return
            if not keyed:
                return
            if self.over.is_set():
                give_up = give_up or time.monotonic() + 60
                if time.monotonic() > give_up:
                    self.clients.crashes.append(f'submission {tag} is refused after the faults have stopped: {errors}')
                    return
            self.counts['repeated'] += 1
            time.sleep(0.1)

    def note_odd(self, words, code, errors, expected):
        """Exit codes that no fault of this harness explains."""
        if code is not None and code not in expected and code not in TERMINATED:
            self.odd.append(f'exit code {code}: {" ".join(words)}: {errors.strip()[-300:]}')


# ---- random jobs ----

def milliseconds(rng):
    kind = rng.random()
    if kind < 0.8:
        return rng.randrange(20)
    return rng.randrange(50, 400) if kind < 0.97 else rng.randrange(1000, 2500)


def command(rng):
    mode = rng.choices(['ok', 'flaky', 'fail', 'daemon', 'out'], [70, 10, 8, 6, 6])[0]
    return ['./job', mode, str(milliseconds(rng))]


def command_options(rng):
    options = ['--retry', '6'] if rng.random() < 0.75 else []
    if rng.random() < 0.1:
        options += ['--delay', f'{rng.randrange(1, 1500)}ms']
    if rng.random() < 0.2:
        options += ['--priority', str(rng.randrange(-5, 5))]
    return options


def workflow(rng, tag):
    template = rng.choices(['chain', 'joins', 'fan', 'wide', 'nested', 'calls'], [20, 20, 20, 12, 8, 20])[0]
    params = {'tag': tag, 'ms': milliseconds(rng) if template in ('chain', 'joins') else rng.randrange(10)}
    if template not in ('chain', 'joins'):
        params['items'] = rng.randrange({'fan': 40, 'wide': 150, 'nested': 8, 'calls': 600}[template])
    return template, params
