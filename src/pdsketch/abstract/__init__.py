"""Model → an ordinary symbolic domain, for heuristics."""
