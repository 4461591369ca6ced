"""The editor server: the questions of the Language Server Protocol, answered by `lang`."""
