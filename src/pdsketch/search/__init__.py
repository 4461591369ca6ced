"""Search: packed kernels over grounded tasks, batches of tensors over learned models."""
