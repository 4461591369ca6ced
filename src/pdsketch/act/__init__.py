"""Plan → policy: execute, watch, replan."""
