"""scenarios.py - scenarios: the faults of a round besides those on processes. A scenario prepares its part of the set-up
before anything runs, adds its faults, and heals everything when the faults stop. Scenarios that need a server or privileges
are in files of their own."""


class Skip(Exception):
    """Raised if this machine does not allow the scenario; the reason is counted and printed."""


class Scenario:
    """Faults on processes only."""
    name = 'kills'
    databases = ('sqlite', 'postgres')
    settings = ''             # lines of postgresql.conf
    config = {}               # keys of `worker` in pawl.yaml
    severed = False           # Pawl itself ends attempts, for example after a partition

    def __init__(self, setup):
        self.setup = setup

    def prepare(self):
        """Before the database starts."""

    def started(self):
        """After the database has started: changes the URL or the hosts."""

    def add(self, faults):
        """Adds faults to faults.choices."""

    def middle(self, round_):
        """Called once, in the middle of the round."""

    def heal(self):
        """Ends all faults that last."""

    def clean(self):
        """Removes everything that prepare and started created; called in any case."""

    def counts(self):
        """Faults that the scenario counted itself."""
        return {}
