"""faults.py - faults on processes: kill -9 of one or many, SIGSTOP past the lease, and upgrades by TERM. Each is counted by its
name."""
import os
import signal
import time
from collections import Counter

import programs


class Faults:
    """Picks faults at random, and ends those that last for a while (`later`)."""

    def __init__(self, setup, workers, clients, facts, rng):
        self.setup, self.workers, self.clients, self.facts, self.rng = setup, workers, clients, facts, rng
        self.counts = Counter()
        self.log = open(os.path.join(setup.folder, 'faults.log'), 'w', buffering=1)
        self.pending = []  # (time, function that ends the fault)
        self.choices = {self.kill_shim: 8, self.kill_shims: 8, self.kill_worker: 6, self.kill_command: 4, self.kill_helper: 3,
                        self.kill_client: 6, self.kill_everything: 1, self.stop_worker: 1, self.stop_shim: 1, self.upgrade: 1}

    def one(self):
        """A fault that finds no victim does not count; another one is tried instead."""
        names, before = list(self.choices), sum(self.counts.values())
        for _ in range(5):
            self.rng.choices(names, [self.choices[n] for n in names])[0]()
            if sum(self.counts.values()) > before:
                break

    def count(self, name, detail=''):
        self.counts[name] += 1
        print(f'{time.monotonic():.3f} {time.strftime("%H:%M:%S")} {name} {detail}', file=self.log)

    def later(self, seconds, undo):
        self.pending.append((time.monotonic() + seconds, undo))

    def undo_due(self, everything=False):
        now = time.monotonic()
        due = [p for p in self.pending if everything or p[0] <= now]
        self.pending = [p for p in self.pending if p not in due]
        for _, undo in due:
            undo()

    # ---- kill -9 ----

    def kill_worker(self):
        worker = self.workers.pick(self.rng)
        if worker and worker.send(signal.SIGKILL):
            self.count('kill worker', worker.pid)

    def kill_shim(self):
        self.kill_some_shims(1)

    def kill_shims(self):
        self.kill_some_shims(10)

    def kill_some_shims(self, most):
        victims = programs.shims(self.setup.folder, self.workers.pids())[0]
        for victim in self.rng.sample(victims, min(most, len(victims))):
            self.kill_shim_of(victim)

    def kill_everything(self):
        """Kills workers, shims, commands, helpers and a client on all hosts, as the kernel may when memory is short."""
        for worker in self.workers.all():
            if worker.send(signal.SIGKILL):
                self.count('kill worker', worker.pid)
        self.kill_some_shims(1000)
        for victim in programs.commands(self.setup.folder):
            self.kill_command_of(victim)
        self.kill_client()

    def kill_helper(self):
        self.kill_any('kill helper', programs.shims(self.setup.folder, self.workers.pids())[1])

    def kill_command(self):
        victims = programs.commands(self.setup.folder)
        if victims:
            self.kill_command_of(self.rng.choice(victims))

    def kill_client(self):
        pid = self.clients.kill(self.rng)
        if pid:
            self.count('kill client', pid)

    def kill_command_of(self, victim):
        attempt = programs.attempt_of_command(victim.pid)
        if attempt and self.signal(victim.pid, signal.SIGKILL):
            self.facts.killed.add(attempt)
            self.count('kill command', f'{victim.pid} {attempt}')

    def kill_shim_of(self, victim):
        attempt = programs.attempt_of_shim(victim.pid)
        if not self.signal(victim.pid, signal.SIGKILL):
            return
        if attempt:
            self.facts.killed.add(attempt)
        else:
            self.facts.unattributed += 1
        self.count('kill shim', f'{victim.pid} {attempt}')

    def kill_any(self, name, victims):
        victim = self.rng.choice(victims) if victims else None
        if victim and self.signal(victim.pid, signal.SIGKILL):
            self.count(name, victim.pid)

    # ---- SIGSTOP ----

    def stop_worker(self):
        """Stops a worker, often for longer than its lease, so that other workers adopt its jobs."""
        worker = self.workers.pick(self.rng)
        if worker and worker.send(signal.SIGSTOP):
            self.count('stop worker', worker.pid)
            self.later(self.setup.lease * self.rng.uniform(0.5, 2.5), lambda: worker.send(signal.SIGCONT))

    def stop_shim(self):
        victims = programs.shims(self.setup.folder, self.workers.pids())[0]
        if victims:
            pid = self.rng.choice(victims).pid
            if self.signal(pid, signal.SIGSTOP):
                self.count('stop shim', pid)
                self.later(self.rng.uniform(0.2, 3), lambda: self.signal(pid, signal.SIGCONT))

    # ---- upgrade ----

    def upgrade(self):
        """Makes workers that start from now on use the other copy of the programs, and asks a running worker to end."""
        self.workers.upgrade_copy = 'b' if self.workers.upgrade_copy == 'a' else 'a'
        worker = self.workers.pick(self.rng)
        if worker and worker.send(signal.SIGTERM):
            self.count('upgrade by TERM', worker.pid)

    def signal(self, pid, number):
        return programs.send_signal(self.setup.folder, pid, number)
