"""All tries of the product, and those of the reproduction: ``make torture``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from paper.tests.torture.tries import Demonstrations, commands, kill_reproduce, table_interrupted
from tests.torture import __main__ as product, streams
from tests.torture.losses import Group


def groups_in(folder: Path) -> tuple[dict[str, Group], list[str]]:
    """The groups of the product, and more."""
    groups, said = product.groups_in(folder)
    tries = Demonstrations(mounts=not said)
    more = [
        Group("kill-data", tries.kill_data, 150),
        Group("kill-reproduce", kill_reproduce, 6),
        Group("full-disk-data", tries.disks.command, 50),
        Group("full-streams-data", partial(streams.full, commands=commands), 20),
        Group("ctrl-c-data", partial(streams.interrupted, commands=commands), 30),
        Group("ctrl-c-process-data", partial(streams.really_interrupted, commands=commands), 4),
        Group("ctrl-c-reproduce", table_interrupted, 4),
    ]
    return groups | {group.name: group for group in more}, said


if __name__ == "__main__":
    sys.exit(product.main(groups_in))
