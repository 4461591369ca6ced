"""From networks to forms: simple functions that do as well, chosen by the whole model."""
