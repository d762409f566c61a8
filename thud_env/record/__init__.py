"""Battles as ``.thud`` files."""
