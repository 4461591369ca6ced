"""Worlds: their observations, experts and sketches."""
