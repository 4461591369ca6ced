"""AO, the and-or compilation: a model becomes an ordinary symbolic domain over codes of its values."""
