"""Errors of training."""

from __future__ import annotations

from thud_env.errors import ThudError


class ConfigError(ThudError):
    """A configuration that is missing, misspelt or out of range."""


class RunError(ThudError):
    """A run that cannot begin, or cannot go on as asked."""
