"""What Gymnasium finds of ours by the entry point ``gymnasium.envs``; nothing is imported for it."""


def register() -> None:
    """Register ``pdsketch/PDDL-v0``; Gymnasium calls this when it is imported, and adds the namespace."""
    from gymnasium.envs.registration import register as add

    add("PDDL-v0", entry_point="pdsketch.interchange.pddl_environment:PDDLEnvironment")
