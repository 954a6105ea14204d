"""`python -m attnviz`, where the command `attnviz` is not on the path."""

import sys

try:
    from attnviz.cli import main
except KeyboardInterrupt:
    sys.exit(130)

sys.exit(main())
