"""Turns and positions as text, as ``docs/notation.md`` has it."""
