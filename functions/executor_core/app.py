"""The core executor: hosts the core functions, which every deployment ships."""

import os

from core_skills.hosted import core_toolkits
from signpost.toolkit import executor

handler = executor(*core_toolkits(os.environ))
