"""Search over the latent states of a model, in tensor batches."""
