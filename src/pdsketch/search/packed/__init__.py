"""Search over grounded tasks, by the engine."""
