"""hosts.py - two hosts, each a network namespace with a state folder of its own, and partitions: the cable of a host to the server is
unplugged for a while, shorter or longer than the time after which the other host may take over its jobs."""
import os
import subprocess

from scenarios import Scenario, Skip
from workers import Host


class Partition(Scenario):
    name = 'partition'
    databases = ('postgres',)
    severed = True  # the shims of a host that is cut off end their commands
    config = {'host_grace': '10s'}

    def __init__(self, setup):
        super().__init__(setup)
        self.mark = os.getpid() % 30000  # names and addresses that no other campaign uses
        self.spaces, self.cut = [], set()

    def cable(self, number):
        return f'chs{number}-{self.mark}'

    def address(self, number, end):
        return f'10.{200 + self.mark // 250 % 50}.{self.mark % 250}.{number * 4 + end}'

    def prepare(self):
        for number in (1, 2):
            space, inner = f'chaos{number}-{self.mark}', f'chi{number}-{self.mark}'
            steps = [f'ip netns add {space}',
                     f'ip link add {self.cable(number)} type veth peer name {inner} netns {space}',
                     f'ip addr add {self.address(number, 1)}/30 dev {self.cable(number)}',
                     f'ip link set {self.cable(number)} up',
                     f'ip -n {space} addr add {self.address(number, 2)}/30 dev {inner}',
                     f'ip -n {space} link set {inner} up', f'ip -n {space} link set lo up']
            self.spaces.append(space)
            for step in steps:
                done = subprocess.run(step.split(), capture_output=True, text=True, check=False)
                if done.returncode:
                    raise Skip(f'no network namespace can be made: {done.stderr.strip()}')

    def started(self):
        database = self.setup.database
        database.configure("listen_addresses = '*'")
        with open(os.path.join(database.data, 'pg_hba.conf'), 'a') as f:
            f.write('host all all 10.0.0.0/8 trust\n')
        database.restart()
        hosts = []
        for number in (1, 2):
            url = f'postgres://postgres@{self.address(number, 1)}:{database.port}/postgres'
            prefix = ['nsenter', f'--net=/run/netns/{self.spaces[number - 1]}', 'unshare', '--uts', 'sh', '-c',
                      f'hostname chaos{number}; PAWL_DB={url} exec "$@"', 'sh']
            hosts.append(Host(f'chaos{number}', f'{self.setup.state_folder}.{number}', prefix))
        self.setup.hosts = hosts

    def add(self, faults):
        self.faults = faults
        faults.choices.update({self.unplug: 1})

    def unplug(self):
        """One host at a time, so that another one can take over."""
        if self.cut:
            return
        number = self.faults.rng.choice((1, 2))
        self.cut.add(number)
        self.link(number, 'down')
        self.faults.count('partition')
        self.faults.later(self.faults.rng.choice((1, 4, 9, 20)), lambda: self.plug(number))

    def plug(self, number):
        if number in self.cut:
            self.link(number, 'up')
            self.cut.remove(number)

    def link(self, number, state):
        subprocess.run(['ip', 'link', 'set', self.cable(number), state], check=True)

    def heal(self):
        for number in list(self.cut):
            self.plug(number)

    def clean(self):
        for space in self.spaces:
            subprocess.run(['ip', 'netns', 'del', space], check=False, stderr=subprocess.DEVNULL)
