"""Trains other libraries on this environment, each in one file to copy from.

Run a file with ``python -m training.integrations.NAME``. It learns for about a minute, and ends
with the table of ``before_after``: how its policy plays before and after.
"""
