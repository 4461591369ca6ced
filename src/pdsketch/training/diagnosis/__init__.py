"""What a fit has learned, what it has not, and on which evidence."""
