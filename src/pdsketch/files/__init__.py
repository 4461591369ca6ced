"""Files on disk: written whole or not at all, read with suspicion, and known to belong together."""
