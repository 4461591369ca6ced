"""The reproduction of the PDSketch paper: its worlds, sketches and experts, baselines, tables and figures."""
