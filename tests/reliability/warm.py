"""A process that has trained once: what is forked from it need not load compiled code again."""

import tempfile
from pathlib import Path

from reliability.runs import trained

with tempfile.TemporaryDirectory() as _folder:
    trained(Path(_folder))
