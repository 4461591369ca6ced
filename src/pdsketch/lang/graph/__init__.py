"""The computation graph of a sketch: what is computed from what, as a picture."""
