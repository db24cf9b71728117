"""servers.py - scenarios on the way to PostgreSQL: restarts and killed backends, a proxy that loses commits, PgBouncer."""
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import databases
from programs import DIES_WITH_HARNESS
from scenarios import Scenario, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
POOLER = shutil.which('pgbouncer') or '/usr/sbin/pgbouncer'


class Server(Scenario):
    """The server is stopped without a checkpoint, and backends are terminated and killed."""
    name = 'server'
    databases = ('postgres',)

    def add(self, faults):
        self.faults = faults
        faults.choices.update({self.restart: 0.5, self.terminate_backend: 4, self.crash_backend: 0.3})

    def restart(self):
        self.setup.database.restart(self.faults.rng.uniform(0, 3))
        self.faults.count('restart server')

    def terminate_backend(self):
        try:
            ended = self.setup.database.psql(
                'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1")
        except databases.Unavailable:
            return
        if ended:
            self.faults.count('terminate backend')

    def crash_backend(self):
        """Kills a backend, after which the server ends all other backends and recovers."""
        try:
            pid = self.setup.database.psql('SELECT pid FROM pg_stat_activity'
                                           " WHERE backend_type = 'client backend' ORDER BY random() LIMIT 1").strip()
            parent = open(os.path.join(self.setup.database.data, 'postmaster.pid')).readline().strip()
            with open(f'/proc/{pid}/stat') as f:
                if f.read().rpartition(')')[2].split()[1] != parent:
                    return
            os.kill(int(pid), 9)
            self.faults.count('kill backend')
        except (databases.Unavailable, OSError, ValueError):
            pass  # the backend has ended


class Proxy(Scenario):
    """All workers and clients connect through a proxy that loses one of 40 commits."""
    name = 'lost commits'
    databases = ('postgres',)
    process = None

    def started(self):
        self.port, self.path = free_port(), os.path.join(self.setup.folder, 'proxy.json')
        self.process = subprocess.Popen([*DIES_WITH_HARNESS, sys.executable, os.path.join(HERE, 'proxy.py'), str(self.port),
                                         str(self.setup.database.port), '40', os.path.basename(self.setup.folder), self.path])
        wait_for_port(self.port)
        self.setup.database.url = f'postgres://postgres@127.0.0.1:{self.port}/postgres'

    def clean(self):
        end(self.process)

    def counts(self):
        return json.load(open(self.path)) if os.path.exists(self.path) else {}


class Pooler(Scenario):
    """All workers and clients connect through PgBouncer in transaction mode, which is killed and started again."""
    name = 'pgbouncer'
    databases = ('postgres',)
    process = None

    def prepare(self):
        if not os.path.exists(POOLER):
            raise Skip('pgbouncer is not installed')

    def started(self):
        self.port = free_port()
        self.folder = os.path.join(self.setup.folder, 'pooler')
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, 'users'), 'w') as f:
            f.write('"postgres" ""\n')
        with open(os.path.join(self.folder, 'ini'), 'w') as f:
            # fewer sessions than clients, so that transactions move between them
            f.write(f'[databases]\n* = host=127.0.0.1 port={self.setup.database.port}\n[pgbouncer]\nlisten_addr=127.0.0.1\n'
                    f'listen_port={self.port}\nunix_socket_dir=\nauth_type=trust\nauth_file={self.folder}/users\n'
                    'pool_mode=transaction\ndefault_pool_size=6\nmax_client_conn=300\n')
        self.launch()
        self.setup.database.url = f'postgres://postgres@127.0.0.1:{self.port}/postgres'

    def launch(self):
        user = ['runuser', '-u', 'postgres', '--'] if os.getuid() == 0 else []
        with open(os.path.join(self.folder, 'log'), 'a') as log:
            self.process = subprocess.Popen([*user, *DIES_WITH_HARNESS, POOLER, '-q', os.path.join(self.folder, 'ini')],
                                            cwd='/', stdout=log, stderr=log)
        wait_for_port(self.port)

    def add(self, faults):
        self.faults = faults
        faults.choices.update({self.kill_pooler: 1})

    def kill_pooler(self):
        children = open(f'/proc/{self.process.pid}/task/{self.process.pid}/children').read().split()
        for pid in children:  # pgbouncer is a child of runuser
            os.kill(int(pid), 9)
        end(self.process)
        self.faults.count('kill pgbouncer')
        time.sleep(self.faults.rng.uniform(0, 1.5))
        self.launch()

    def clean(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def wait_for_port(port):
    for _ in range(300):
        try:
            socket.create_connection(('127.0.0.1', port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f'nothing listens on port {port}')


def end(process):
    if process:
        process.kill()
        process.wait()
