"""States as batches of tensors: objects, values, and how both are checked and compared."""
