"""OPT, the optimistic compilation of a sketch."""
