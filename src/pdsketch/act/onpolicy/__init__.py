"""Learning by acting: collect with the current model, explore, train, repeat."""
