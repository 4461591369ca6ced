"""BabyAI: the paper's first domain, in Minigrid."""
