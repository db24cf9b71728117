"""kit.py - shared by the benchmarks of the server and its pages: a PostgreSQL server, databases, servers, figures and tables."""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
os.environ["PAWL_TEST_BUILD"] = BUILD = os.path.realpath(os.environ.get("BUILD", HERE.parent / "build"))
sys.path.insert(0, str(HERE.parent / "tests"))
import server_fixture  # noqa: E402

DATABASES = os.environ.get("PAWL_TEST_DB", "sqlite postgres").split()
QUICK = "--quick" in sys.argv


def rounds(quick, full):
    """The number of rounds: that of the option --rounds, or one of these."""
    return int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else quick if QUICK else full


# ---- figures ----

_figures = {}  # title -> the figures of the rounds


def note(title, figure):
    _figures.setdefault(title, []).append(figure)
    print(f"{title}: {figure:.4g}", file=sys.stderr)


def show(title, form="{:,.0f}"):
    """The median of the rounds with its range, as text."""
    figures = _figures.get(title, [])
    if not figures:
        return "–"
    text = form.format(statistics.median(figures))
    return text if len(figures) == 1 else f"{text} ({form.format(min(figures))}–{form.format(max(figures))})"


def publish(marker, text):
    """Prints the tables; with --write also puts them between the marks of docs/BENCHMARKS.md."""
    print(text)
    if "--write" in sys.argv:
        page = HERE.parent / "docs" / "BENCHMARKS.md"
        between = re.compile(rf"(<!-- {marker} -->\n\n)(.*?)(\n\n<!-- {marker}: end -->)", re.S)
        page.write_text(between.sub(lambda m: m[1] + text + m[3], page.read_text()))


# ---- databases and servers ----


@contextlib.contextmanager
def postgres():
    """A PostgreSQL server, as its URL."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    tool = str(HERE.parent / "tests" / "pg_server")
    try:
        env = subprocess.run([tool, "start", f"{folder}/pg", str(os.getpid())], check=True, capture_output=True, text=True).stdout
        yield re.search(r"PAWL_TEST_PG_URL='?([^'\n]+)", env)[1]
    finally:
        subprocess.run([tool, "stop", f"{folder}/pg"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


class Database(server_fixture.Database):
    """A new database, not a tenant of one: bench/lives uses it, too."""

    def __init__(self, db, pg):
        self.dir = tempfile.mkdtemp(prefix="pawl-bench.")
        self.url, self.tenant = f"sqlite:{self.dir}/pawl.db", None
        if db == "postgres":
            self.url = pg
            subprocess.run(["psql", "-q", pg, "-c", "DROP SCHEMA IF EXISTS pawl CASCADE", "-c", "CHECKPOINT"], check=True,
                           stderr=subprocess.DEVNULL)
        self.env = {**os.environ, "HOME": self.dir}
        self.pawl("admin", "migrate")

    def pawl(self, *args):
        return super().pawl(*args, tenant=False)

    def lives(self, jobs, batch=500):
        """Whole lives of jobs a second, by a program that uses the database directly."""
        command = [f"{BUILD}/bench/lives", self.url, str(batch), "1", str(jobs)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return float(re.search(r'"lives_per_s":([0-9.]+)', output)[1])

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


@contextlib.contextmanager
def serving(database, *options):
    server = server_fixture.Server(database, *options, tenant=False)
    drain = subprocess.Popen(["cat"], stdin=server.process.stderr, stdout=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(60)
        drain.wait(60)
