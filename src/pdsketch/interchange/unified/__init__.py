"""Problems and plans of `unified-planning`, and an engine for it."""
