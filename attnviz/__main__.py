"""`python -m attnviz`, where the command `attnviz` is not on the path."""

import sys

from attnviz.cli import main

sys.exit(main())
