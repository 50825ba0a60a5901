"""tasksite: a task graph that workers drain, one lane at a time."""

__version__ = "0.1.0"
