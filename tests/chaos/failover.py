"""failover.py - a replica takes over in the middle of a round, as docs/OPERATIONS.md describes for a restored database: workers and
submitters are stopped, the replica is promoted, `pawl admin fence --yes`, and the workers start again.

With synchronous replication nothing that was accepted may be lost. With asynchronous replication the replica is cut off some
seconds before the primary dies: submissions that were accepted since then may be lost, and what ran since then runs again."""
import os
import signal
import subprocess
import time

import databases
import servers
from scenarios import Scenario


class Failover(Scenario):
    name = 'failover'
    databases = ('postgres',)
    severed = True  # the fence ends running attempts
    synchronous = True
    replica = None

    def started(self):
        primary = self.setup.database
        replica = databases.PostgreSQL(os.path.join(self.setup.folder, 'replica'))
        os.makedirs(replica.folder)
        os.chmod(os.path.dirname(replica.folder), 0o755)
        subprocess.run(['chown', 'postgres', replica.folder], check=os.getuid() == 0)
        replica.port = servers.free_port()
        replica.server_url = replica.url = f'postgres://postgres@127.0.0.1:{replica.port}/postgres'
        copied = databases.as_server(['pg_basebackup', '-D', replica.data, '-R', '-c', 'fast', '-d', primary.server_url])
        if copied.returncode or not replica.control('start'):
            raise RuntimeError('no replica can be made')
        self.replica, self.primary = replica, primary
        if self.synchronous:
            primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.psql('SELECT pg_reload_conf()')

    def add(self, faults):
        self.faults = faults

    def middle(self, round_):
        facts, workload = round_.facts, round_.workload
        cut_off = time.monotonic()
        if not self.synchronous:
            self.replica.psql("ALTER SYSTEM SET primary_conninfo = ''")
            self.replica.psql('SELECT pg_reload_conf()')
            self.wait_until_cut_off()
            time.sleep(2)
        self.faults.undo_due(everything=True)
        self.primary.control('-m', 'immediate', 'stop')
        round_.clients.end_all()
        number = self.faults.rng.choice((signal.SIGTERM, signal.SIGKILL))
        round_.workers.stop(number)
        if not self.replica.control('promote'):
            raise RuntimeError('the replica cannot be promoted')
        self.setup.database.server_url = self.setup.database.url = self.replica.url
        self.setup.database.ensure_running = self.replica.ensure_running
        round_.pawl('admin', 'fence', '--yes')
        if not self.synchronous:
            self.forgive(facts, workload, cut_off)
        round_.clients.gate.set()
        round_.workers.start()
        self.faults.count(f'{self.name} with fence')

    def wait_until_cut_off(self):
        for _ in range(100):
            if not self.replica.psql('SELECT 1 FROM pg_stat_wal_receiver').strip():
                return
            time.sleep(0.1)
        raise RuntimeError('the replica still receives')

    def forgive(self, facts, workload, cut_off):
        with open(self.setup.ledger, 'rb') as f:
            facts.fence = f.read().count(b'\n')
        with workload.lock:
            for submission in workload.submissions:
                submission.may_be_lost = submission.acked and submission.time >= cut_off

    def clean(self):
        if self.replica:
            self.replica.control('-m', 'immediate', 'stop')


class AsynchronousFailover(Failover):
    name = 'lossy failover'
    synchronous = False
