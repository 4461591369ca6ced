"""Terms → nodes that compute tensors: formulas, actions, and calls of modules."""
