"""Agent frameworks drive a workflow: python -m tests.frameworks [--only NAME] [--list]"""

import sys
from pathlib import Path

# As pytest has it: code of the test stage is the package `stage`.
sys.path.append(str(Path(__file__).resolve().parents[1]))

from tests.frameworks.command import main

sys.exit(main())
