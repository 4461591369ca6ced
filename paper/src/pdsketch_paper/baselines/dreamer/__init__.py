"""A world model with an actor-critic in imagination, after DreamerV2 (Hafner et al., 2021)."""
