#!/usr/bin/env python3
"""campaign.py - plays rounds until the time is over, adds them to the campaign in a folder, and prints its totals.

  campaign.py [--minutes N] [--folder DIR] [--database NAME] [--scenario NAME] [--seed N] [--seconds N] [--build DIR] [--write]

The folder (build/chaos) keeps one line for each round in rounds.jsonl, so that a later run adds to the campaign, and failed/SEED
for each round with a violation: ledger, log of faults, logs of workers, executions and events. A seed decides what is submitted
and which faults come in which order; when they come depends on the machine. --seed plays this one round."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import databases
import disks
import failover
import hosts
import servers
import summary
from round import Round
from scenarios import Scenario, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCENARIOS = [Scenario, servers.Server, disks.StateDisk, servers.Proxy, disks.DatabaseDisk, hosts.Partition, Scenario,
             servers.Pooler, disks.BothDisks, failover.Failover, failover.AsynchronousFailover]


class Campaign:
    def __init__(self, options):
        self.options = options
        os.makedirs(options.folder, exist_ok=True)
        self.path = os.path.join(options.folder, 'rounds.jsonl')
        self.records = []
        if os.path.exists(self.path):
            with open(self.path) as f:
                self.records = [json.loads(line) for line in f]
        self.revision = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True,
                                       check=False).stdout.strip() or 'unknown'
        self.work = tempfile.mkdtemp(prefix='pawl-chaos.')
        os.chmod(self.work, 0o755)

    def run(self):
        try:
            self.make_image()
            end = time.monotonic() + self.options.minutes * 60
            while time.monotonic() < end:
                for database in self.databases():
                    if time.monotonic() < end:
                        self.play(database)
                if self.options.seed is not None:
                    break
        except KeyboardInterrupt:
            print('interrupted: this round does not count')
        finally:
            shutil.rmtree(self.work, ignore_errors=True)

    def databases(self):
        return [self.options.database] if self.options.database else summary.DATABASES

    def make_image(self):
        """Servers are copied from one new cluster, which is faster than a new cluster each time."""
        image = os.path.join(self.work, 'image')
        if 'postgres' in self.databases():
            subprocess.run([databases.PG_SERVER, 'image', image], check=True)
            os.environ['PAWL_TEST_PG_IMAGE'] = image

    def choose(self, database):
        """Each database has its turns of all scenarios that it knows."""
        known = [s for s in SCENARIOS if database in s.databases]
        if self.options.scenario:
            named = [s for s in known if s.name == self.options.scenario]
            if not named:
                sys.exit(f'{database} has no scenario "{self.options.scenario}"; it has: {", ".join(s.name for s in known)}')
            return named[0]
        return known[sum(r['database'] == database for r in self.records) % len(known)]

    def play(self, database):
        seed = self.options.seed if self.options.seed is not None else max((r['seed'] for r in self.records), default=0) + 1
        scenario = self.choose(database)
        print(f'seed {seed}: {database}, {scenario.name} ...', flush=True)
        round_ = Round(self.options.build, database, scenario, seed, self.options.seconds, self.work)
        try:
            record = round_.play()
        except Skip as reason:
            record = {'seed': seed, 'database': database, 'scenario': scenario.name, 'skipped': str(reason)}
        except BaseException:
            round_.remove()
            raise
        record['revision'] = self.revision
        self.add(record)
        self.report(record)
        if record.get('violations'):
            kept = os.path.join(self.options.folder, 'failed', f'{seed}')
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(round_.setup.folder, kept, ignore=shutil.ignore_patterns('programs', 'server', 'replica', 'state*'))
            print(f'  kept in {kept}')
        round_.remove()

    def add(self, record):
        self.records.append(record)
        with open(self.path, 'a') as f:
            print(json.dumps(record), file=f)

    def report(self, record):
        if 'skipped' in record:
            print(f"  skipped: {record['skipped']}")
            return
        faults = ', '.join(f'{n} {name}' for name, n in sorted(record['faults'].items()))
        print(f"  {record['jobs']} jobs in {record['attempts']} attempts, {record['seconds']} s; {faults}", flush=True)
        for v in record['violations'][:20]:
            print(f"  VIOLATION {v['kind']}: {v['text']}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--minutes', type=float, default=10, help='start no round after this time')
    parser.add_argument('--seconds', type=float, default=45, help='the time with faults of a round')
    parser.add_argument('--folder', default=os.path.join(ROOT, 'build', 'chaos'))
    parser.add_argument('--build', default=os.path.join(ROOT, 'build'), help='where pawl and pawl-shim are')
    parser.add_argument('--database', choices=summary.DATABASES)
    parser.add_argument('--scenario', help=f'one of: {", ".join(dict.fromkeys(s.name for s in SCENARIOS))}')
    parser.add_argument('--seed', type=int, help='play only this round, again')
    parser.add_argument('--write', action='store_true', help='play nothing, write the totals to docs/GUARANTEES.md')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    campaign = Campaign(options)
    if options.write:
        summary.write_page(os.path.join(ROOT, 'docs', 'GUARANTEES.md'), campaign.records)
        return 0
    campaign.run()
    print(summary.text(campaign.records))
    return 0 if summary.is_clean(campaign.records) else 1


if __name__ == '__main__':
    sys.exit(main())
