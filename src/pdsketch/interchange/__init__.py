"""Problems and plans of other planning frameworks."""
