"""Domain → differentiable tensor program."""
