"""The settings of a server that counts what it does: see `benchmarks.counting`."""

from tasksite.settings import *  # noqa: F403
from tasksite.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "benchmarks.counting.Counting"]
