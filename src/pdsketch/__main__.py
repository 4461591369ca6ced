"""``python -m pdsketch`` is ``pdsketch``."""

import sys

from pdsketch.cli.main import main

sys.exit(main())
