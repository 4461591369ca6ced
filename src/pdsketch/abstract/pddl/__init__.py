"""The abstraction of a model as PDDL files that any planner reads."""
