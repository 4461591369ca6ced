"""Settings for all tests."""

from __future__ import annotations

import os

# One thread a process: the tests run in parallel, and small tensors are faster so. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# A busy machine is no error of ours, so no test fails for being slow.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
