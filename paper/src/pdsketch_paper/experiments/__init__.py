"""One module a table or figure of the paper."""
