"""What we are compared with."""
