from __future__ import annotations

import pytest
import torch
from tests.training.rooms import world


@pytest.fixture(scope="session")
def rooms():
    """A domain and forty episodes of it, with one to three boxes each."""
    torch.set_num_threads(1)
    return world(40)
