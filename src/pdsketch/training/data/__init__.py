"""Episodes: in memory, on disk, and on the device that learns from them."""
