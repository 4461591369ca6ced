"""Model → a symbolic task that stands in for it, so that heuristics of tasks guide its search."""
