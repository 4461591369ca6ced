"""The Painting Factory: blocks, bowls of paint and a box on a table, moved by a suction gripper."""
