"""Search: the engine over grounded tasks, batches of tensors over learned models."""
