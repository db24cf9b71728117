"""disks.py - scenarios with a full disk: the database, the state folder, or both are on small file systems in memory, which the
harness fills completely and empties again. The ledger is on another one."""
import os
import subprocess

from scenarios import Scenario, Skip

SIZES = {'sqlite': '512m', 'postgres': '1g', 'state': '128m'}


class Disk(Scenario):
    """Mounts the folders, and fills those that the scenario names."""
    folders = ()

    def prepare(self):
        self.mounted = []
        for folder, size in ((self.setup.database_folder, SIZES[self.setup.database_name]),
                             (self.setup.state_folder, SIZES['state'])):
            os.makedirs(folder)
            done = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size},mode=755', 'chaos', folder], capture_output=True,
                                  text=True, check=False)
            if done.returncode:
                raise Skip(f'no file system can be mounted: {done.stderr.strip()}')
            self.mounted.append(folder)

    def add(self, faults):
        self.faults = faults
        faults.choices.update({self.fill: 1})

    def ballast(self):
        return [os.path.join(getattr(self.setup, f'{name}_folder'), 'ballast') for name in self.folders]

    def fill(self):
        for path in self.ballast():
            if os.path.exists(path):
                return  # the disk is full already
        for path in self.ballast():
            fill_up(path)
        self.faults.count(f'fill {self.name}')
        self.faults.later(self.faults.rng.uniform(0.3, 4), self.empty)

    def empty(self):
        for path in self.ballast():
            if os.path.exists(path):
                os.unlink(path)
        self.setup.database.ensure_running()  # a server whose log cannot be written ends itself

    def heal(self):
        self.empty()

    def clean(self):
        """The server is stopped first: it uses the file system."""
        if self.setup.database:
            self.setup.database.stop()
        for folder in self.mounted:
            subprocess.run(['umount', '-l', folder], check=False)


class StateDisk(Disk):
    name = 'disk of state'
    folders = ('state',)


class DatabaseDisk(Disk):
    name = 'disk of database'
    folders = ('database',)


class BothDisks(Disk):
    name = 'both disks'
    folders = ('database', 'state')


def fill_up(path):
    block = bytes(1 << 20)
    with open(path, 'wb', buffering=0) as f:
        while block:
            try:
                f.write(block)
            except OSError:
                block = block[:len(block) // 2]  # write smaller blocks until no byte is free
