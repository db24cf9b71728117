"""workers.py - keeps a number of workers alive on each host, as a service manager does, and records how they ended."""
import os
import signal
import subprocess
import threading
import time

from programs import DIES_WITH_HARNESS


class Host:
    """A state folder and the command prefix that enters the host's network namespace."""

    def __init__(self, name, state, prefix=()):
        self.name, self.state, self.prefix = name, state, list(prefix)
        os.makedirs(state, mode=0o700, exist_ok=True)


class Worker:
    def __init__(self, host, copy, process, log):
        self.host, self.copy, self.process, self.log = host, copy, process, log
        self.pid = process.pid
        self.signalled = set()  # signals that the harness sent

    def send(self, number):
        self.signalled.add(number)
        self.process.send_signal(number)  # does nothing if it has ended
        return self.process.returncode is None


class Workers:
    """A thread starts the workers and replaces those that ended. It is the only one that reaps them, so that the pid of a
    worker in `alive` never belongs to another process."""

    def __init__(self, programs, hosts, count, config, url, folder):
        self.programs, self.hosts, self.count, self.config, self.folder = programs, hosts, count, config, folder
        self.url = url  # a function: the URL changes after a failover
        self.lock = threading.Lock()
        self.alive, self.crashes, self.exits = [], [], 0
        self.dead = set()  # pids of workers that did not end as a drained worker does; their functions died with them
        self.started, self.upgrade_copy = 0, 'a'
        self.wanted = threading.Event()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.keep_alive, name='workers', daemon=True)
        self.thread.start()

    def start(self):
        self.wanted.set()

    def pids(self):
        with self.lock:
            return {w.pid for w in self.alive}

    def all(self):
        with self.lock:
            return list(self.alive)

    def pick(self, random):
        with self.lock:
            return random.choice(self.alive) if self.alive else None

    def keep_alive(self):
        while not self.over.is_set() or self.alive:
            with self.lock:
                self.reap()
                if self.wanted.is_set():
                    for host in self.hosts:
                        for _ in range(self.count - sum(w.host is host for w in self.alive)):
                            self.alive.append(self.launch(host))
            time.sleep(0.05)

    def launch(self, host):
        self.started += 1
        copy = self.upgrade_copy
        log = os.path.join(self.folder, f'worker.{self.started}.log')
        command = [*DIES_WITH_HARNESS, *host.prefix, self.programs.pawl(copy), 'worker', '--config', self.config[copy],
                   '--state', host.state, '--slots', '10']
        with open(log, 'wb') as f:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f, cwd=self.folder,
                                       start_new_session=True, env={**os.environ, 'PAWL_DB': self.url()})
        return Worker(host, copy, process, log)

    def reap(self):
        for worker in list(self.alive):
            code = worker.process.poll()
            if code is None:
                continue
            self.alive.remove(worker)
            self.note_exit(worker, code)

    def note_exit(self, worker, code):
        """A worker that crashed is a defect. One that was stopped past its lease may be killed by another worker."""
        if code:
            self.dead.add(worker.pid)
        if code < 0 and -code not in worker.signalled and not (code == -signal.SIGKILL and signal.SIGSTOP in worker.signalled):
            self.crashes.append(f'worker {worker.pid} ended by signal {-code}: {tail(worker.log)}')
        elif code and -code not in worker.signalled:
            self.exits += 1  # for example because the database cannot be used

    def stop(self, number=signal.SIGTERM, timeout=60):
        """Ends all workers; returns those that did not end in time, which are killed."""
        self.wanted.clear()
        with self.lock:
            workers = list(self.alive)
        for worker in workers:
            worker.send(number)
        end = time.monotonic() + timeout
        while self.pids() and time.monotonic() < end:
            time.sleep(0.05)
        stubborn = [f'worker {w.pid} did not end: {tail(w.log)}' for w in workers if w.pid in self.pids()]
        for worker in workers:
            if worker.pid in self.pids():
                worker.send(signal.SIGKILL)
        while self.pids():
            time.sleep(0.05)
        return stubborn

    def end(self):
        self.stop(signal.SIGKILL)
        self.over.set()
        self.thread.join()


def tail(path, size=400):
    with open(path, 'rb') as f:
        f.seek(0, os.SEEK_END)
        f.seek(max(0, f.tell() - size))
        return f.read().decode(errors='replace').strip()
