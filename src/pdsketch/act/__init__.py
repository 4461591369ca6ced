"""Agents act in worlds: what both are, the agent that plans, and rollouts."""
