"""Text → checked `Domain`. Imports neither torch nor numpy."""
