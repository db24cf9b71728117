"""databases.py - the two databases of a round, as Pawl's users see them: a URL, and the documented views."""
import json
import os
import sqlite3
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PG_SERVER = os.path.join(HERE, '..', 'pg_server')
COLUMNS = 'id, parent, kind, name, task_name, task_index, status, attempt, max_attempts, input, error'
OPEN = "status NOT IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'skipped')"


class Unavailable(Exception):
    """Raised if the database cannot be read at the moment."""


class SQLite:
    name = 'sqlite'
    schema = ''

    def __init__(self, folder):
        self.folder = folder
        self.path = os.path.join(folder, 'pawl.db')
        self.url = f'sqlite:{self.path}'

    def start(self):
        pass

    def stop(self):
        pass

    def ensure_running(self):
        pass

    def query(self, sql):
        """The rows as dictionaries; JSON columns stay text."""
        try:
            with sqlite3.connect(f'file:{self.path}?mode=ro', uri=True, timeout=30) as db:
                db.row_factory = sqlite3.Row
                return [dict(row) for row in db.execute(sql)]
        except sqlite3.Error as e:
            raise Unavailable(str(e)) from e


class PostgreSQL:
    """A private server of tests/pg_server, which also ends it if the harness is killed."""
    name = 'postgres'
    schema = 'pawl.'

    def __init__(self, folder, settings=''):
        self.folder = os.path.join(folder, 'server')
        self.data = os.path.join(self.folder, 'data')
        self.settings = settings
        self.url = self.server_url = None

    def start(self):
        subprocess.run([PG_SERVER, 'start', self.folder, str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
        self.port = int(open(os.path.join(self.folder, 'port')).read())
        self.url = self.server_url = f'postgres://postgres@127.0.0.1:{self.port}/postgres'
        if self.settings:
            self.configure(self.settings)
            self.restart()

    def configure(self, settings):
        with open(os.path.join(self.data, 'postgresql.conf'), 'a') as f:
            f.write(settings + '\n')

    def control(self, *words):
        """pg_ctl as the user of the server; returns whether it succeeded."""
        log = os.path.join(self.folder, 'log')
        command = [os.path.join(bindir(), 'pg_ctl'), '-D', self.data, '-l', log, '-o', f'-p {self.port}', '-w', '-t', '60', *words]
        return as_server(command).returncode == 0

    def restart(self, pause=0):
        """Stops the server without a checkpoint, as a crash does, and starts it after a pause of some seconds."""
        self.control('-m', 'immediate', 'stop')
        time.sleep(pause)
        self.ensure_running()

    def ensure_running(self):
        for _ in range(10):
            if self.control('status') or self.control('start'):
                return
            time.sleep(1)
        raise RuntimeError(f'the server in {self.folder} does not start')

    def stop(self):
        subprocess.run([PG_SERVER, 'stop', self.folder], check=False, stdout=subprocess.DEVNULL)

    def psql(self, sql, url=None):
        done = subprocess.run(['psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-c', sql, url or self.server_url],
                              capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise Unavailable(done.stderr.strip())
        return done.stdout

    def query(self, sql):
        rows = self.psql(f'SELECT row_to_json(q) FROM ({sql}) AS q')
        return [json.loads(line) for line in rows.splitlines()]


def bindir():
    return subprocess.run(['pg_config', '--bindir'], capture_output=True, text=True, check=True).stdout.strip()


def as_server(command):
    if os.getuid() == 0:
        command = ['runuser', '-u', 'postgres', '--', *command]
    return subprocess.run(command, cwd='/', stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False)


def count_open(database):
    """Executions and SQL submissions that have not ended."""
    total = database.query(f'SELECT count(*) AS n FROM {database.schema}pawl_executions WHERE {OPEN}')[0]['n']
    if database.name == 'postgres':
        total += database.query("SELECT count(*) AS n FROM pawl.pawl_submissions WHERE status = 'waiting'")[0]['n']
    return total


def executions(database):
    rows = database.query(f'SELECT {COLUMNS} FROM {database.schema}pawl_executions ORDER BY id')
    for row in rows:
        if isinstance(row['input'], str):
            row['input'] = json.loads(row['input'])
    return rows


def released_attempts(database):
    """Attempts that Pawl gave back because their command never began; they do not count against max_attempts."""
    rows = database.query(f"SELECT execution, attempt FROM {database.schema}pawl_events WHERE type LIKE '%.released'")
    return {(row['execution'], row['attempt']) for row in rows}
