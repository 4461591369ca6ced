"""What is said of a blank, in one word: the words of reports, documents and reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Verdict = Literal[
    "learned",
    "given",
    "one-sided",
    "undecided",
    "ambiguous",
    "collapsed",
    "never-varied",
    "never-trained",
    "never-called",
    "outside",
]

MEANINGS: Final[Mapping[Verdict, str]] = {
    "learned": "sure of itself on the data, and what depends on it comes out right",
    "given": "a function of yours, with nothing in it to learn",
    "one-sided": "a Boolean that is true on all inputs of the data, or on none",
    "undecided": "a Boolean, not seen to be right, with a truth from 0.1 to 0.9 on over 5 % of inputs",
    "ambiguous": "unsure of its value, or what depends on it comes out wrong on the data",
    "collapsed": "an encoder that gives everything the same value, though its inputs differ",
    "never-varied": "its inputs were always the same, or what it writes never changed",
    "never-trained": "no gradient ever reached it: nothing in the data depends on it",
    "never-called": "nothing that was measured evaluates it",
    "outside": "more than 5 % of its inputs on other data are unlike all that it was trained on",
}
"""What each word means."""

REMEDIES: Final[Mapping[Verdict, str]] = {
    "one-sided": "add episodes in which it should be otherwise",
    "undecided": "add goals or transitions that depend on it, or train longer",
    "ambiguous": "look at `worst`; give it the inputs that decide, or more data, or train longer",
    "collapsed": "train again with another seed, or add goals that need the difference",
    "never-varied": "add episodes in which it differs",
    "never-trained": "add goals, transitions or `executable` that depend on it, or remove it",
    "outside": "add episodes with such values",
}
"""What helps against each word that tells of a hole."""

NOTE: Final = "verdicts"
"""Where a model's notes keep the word on each blank."""

SURE: Final = 0.9
"""A truth value or a choice is sure at this probability, or at one minus it; set by hand."""

MOST_UNSURE: Final = 0.05
"""A blank may be unsure on this part of its inputs, or not trained near them, and be sure; set by hand."""

RIGHT: Final = 0.95
"""What depends on a blank comes out right when this part of it does; set by hand."""
