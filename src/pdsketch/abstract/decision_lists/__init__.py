"""Input and output codes of a function → a first-order decision list that says the same."""
