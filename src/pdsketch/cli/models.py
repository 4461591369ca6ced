"""Commands that take ``--model DIR``: where it is given, the domain is the model's, and need not be named."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pdsketch.budget import apart
from pdsketch.cli import output
from pdsketch.cli.imports import import_large
from pdsketch.cli.modules import given_modules
from pdsketch.lang import Domain, load_domain

if TYPE_CHECKING:
    from pdsketch.tensor import Model


def without_domain(args: argparse.Namespace, *after: str) -> None:
    """Where the last of the files is missing and there is a model, the first is not the domain."""
    if getattr(args, after[-1]) is not None:
        return
    if args.model is None:
        missing = ", ".join(name.upper() for name in after if getattr(args, name) is None)
        raise output.UsageError(f"DOMAIN is followed by {missing}; only with --model is DOMAIN left out")
    given = [args.domain, *(getattr(args, name) for name in after)]
    args.domain = None
    for name, value in zip(after, given, strict=False):
        setattr(args, name, value)
    if None in given[: len(after)]:
        raise output.UsageError(f"{' and '.join(name.upper() for name in after)} are needed")


def domain_of(args: argparse.Namespace) -> Domain:
    """The domain that was named, or the model's."""
    return loaded_model(args).domain if args.domain is None else load_domain(args.domain)


def loaded_model(args: argparse.Namespace) -> Model:
    """The model of ``--model``, loaded once."""
    if "loaded" not in args:
        with apart():
            import_large("torch")
            from pdsketch.tensor import load_model
        args.loaded = load_model(args.model, given_modules(args))
    model: Model = args.loaded
    return model
