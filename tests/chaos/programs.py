"""programs.py - the programs under test, copied into the folder of a round, and their processes as /proc shows them.

The copies have paths that no other process on the machine uses. So a process belongs to a round if its program lies in the
round's folder, and is found whatever happened to its parents."""
import os
import re
import shutil
import signal
import subprocess
from collections import namedtuple

Process = namedtuple('Process', 'pid parent program')
Attempt = namedtuple('Attempt', 'execution attempt')

# A child that must not outlive the harness, even if the harness is killed. The signal is sent when the thread that started
# the child ends, so such children are started only by threads that end after them.
DIES_WITH_HARNESS = ['setpriv', '--pdeathsig', 'KILL']


class Programs:
    """Two copies of pawl and pawl-shim: an upgrade by TERM replaces a worker of one copy by a worker of the other."""

    def __init__(self, build, folder):
        self.folder = os.path.join(folder, 'programs')
        for copy in 'ab':
            os.makedirs(os.path.join(self.folder, copy))
            for name in ('pawl', 'pawl-shim'):
                shutil.copy2(os.path.join(build, name), os.path.join(self.folder, copy, name))

    def pawl(self, copy='a'):
        return os.path.join(self.folder, copy, 'pawl')

    def shim(self, copy='a'):
        return os.path.join(self.folder, copy, 'pawl-shim')


def compile_jobs(sources, include, folder):
    """Compiles the command and the plugin of all jobs into the folder; the plugin uses only the installed header."""
    for name, options in (('job', []), ('function.so', ['-shared', '-fPIC', f'-I{include}'])):
        source = os.path.join(sources, name.removesuffix('.so') + '.c')
        subprocess.run(['cc', '-O2', '-Wall', *options, '-o', os.path.join(folder, name), source], check=True)


def processes(folder):
    """All processes whose program lies in the folder."""
    found = []
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            program = os.readlink(f'/proc/{name}/exe')
            if not program.startswith(folder + '/'):
                continue
            with open(f'/proc/{name}/stat') as f:
                after_name = f.read().rpartition(')')[2].split()
        except OSError:
            continue  # the process has ended
        if after_name[0] not in 'ZX':
            found.append(Process(int(name), int(after_name[1]), program.removesuffix(' (deleted)')))
    return found


def shims(folder, workers):
    """The shims of attempts, and the helpers: a helper is a pawl-shim whose parent is a worker."""
    own = [p for p in processes(folder) if p.program.endswith('/pawl-shim')]
    return ([p for p in own if p.parent not in workers], [p for p in own if p.parent in workers])


def commands(folder):
    return [p for p in processes(folder) if p.program.endswith('/job')]


def attempt_of_shim(pid):
    """The attempt of a shim, by the attempt folder in which it has files open; None if it has none open yet."""
    try:
        for fd in os.listdir(f'/proc/{pid}/fd'):
            try:
                match = re.search(r'/(\d+)\.(\d+)(/|$| )', os.readlink(f'/proc/{pid}/fd/{fd}'))
            except OSError:
                continue
            if match:
                return Attempt(int(match[1]), int(match[2]))
    except OSError:
        pass
    return None


def attempt_of_command(pid):
    try:
        with open(f'/proc/{pid}/environ', 'rb') as f:
            names = dict(v.split(b'=', 1) for v in f.read().split(b'\0') if b'=' in v)
        return Attempt(int(names[b'PAWL_EXECUTION_ID']), int(names[b'PAWL_ATTEMPT']))
    except (OSError, KeyError, ValueError):
        return None


def send_signal(folder, pid, number):
    """Signals a process only if its program lies in the folder: its number may have been given to another process meanwhile.
    Returns whether the signal was sent."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not os.readlink(f'/proc/{pid}/exe').startswith(folder + '/'):
            return False
        signal.pidfd_send_signal(fd, number)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def leftover_cgroups(keys):
    """Cgroups of attempts, by the keys that the commands wrote into the ledger."""
    found = []
    for top in ('/sys/fs/cgroup', '/sys/fs/cgroup/unified'):
        for folder, folders, _ in os.walk(top):
            found += [os.path.join(folder, f) for f in folders if f.startswith('pawl-') and f[-16:] in keys]
            if folder.count('/') >= top.count('/') + 3:
                folders.clear()
    return found
