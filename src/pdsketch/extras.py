"""Packages that only some rooms need, and the error where one is not installed."""

from __future__ import annotations

from pdsketch.lang import Diagnostic, Error


def missing_extra(package: str, extra: str) -> Error:
    """The error that says which extra of pdsketch brings ``package``."""
    return Error(
        [
            Diagnostic(
                code="missing-extra",
                message=f"this needs the package `{package}`, which is not installed",
                help=f'install it with: pip install "pdsketch[{extra}]"',
            )
        ]
    )
