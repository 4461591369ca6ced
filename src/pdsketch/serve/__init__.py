"""A local page that shows a sketch, its states and its search."""
