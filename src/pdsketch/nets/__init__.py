"""Networks that fill blanks and know nothing of domains."""
