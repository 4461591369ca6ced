"""Settings for the tests of the reproduction: those of the product's."""

from tests.conftest import _known_codes, _patient_disk, packages, zoo

__all__ = ["_known_codes", "_patient_disk", "packages", "zoo"]
