"""Plays attacks against a deployed stack: python -m tests.attacks [--only ID] [--list]"""

import sys
from pathlib import Path

# As pytest has it: code of the test stage is the package `stage`.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from tests.attacks.command import main

sys.exit(main())
