"""Episodes, losses, and the trainer."""
