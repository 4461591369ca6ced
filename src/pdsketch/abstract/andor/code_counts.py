"""How many codes a type is given by a user, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pdsketch.lang import Domain, did_you_mean, error


def check_counts(domain: Domain, counts: Mapping[str, int], recorded: Iterable[str]) -> None:
    """Only types of floats of which values were recorded can be given a number of codes."""
    known = {*recorded}
    for name, count in counts.items():
        mine = [p for p in domain.state_predicates if str(p.type) == name]
        if type(count) is not int or count < 1:
            raise error("bad-option", f"`{name}` is given {count!r:.20} codes, and these are a count")
        if not mine:
            help_ = did_you_mean(name, [str(p.type) for p in domain.state_predicates])
            raise error("bad-option", f"no state variable has the type `{name:.80}`", help=help_)
        if mine[0].type.prim != "float32":
            raise error("bad-option", f"`{name}` is no type of floats: each of its values is a code")
        if not any(p.name in known for p in mine):
            raise error(
                "bad-option",
                f"no values of `{name}` were recorded, from which codes could be made",
                help="train the model, or give no number of codes",
            )
