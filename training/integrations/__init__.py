"""Other people's libraries on this environment, each in one file that can be copied out.

Every file is run with ``python -m training.integrations.NAME``, learns for about a minute, and
ends with the table of ``before_after``: how its policy plays before and after.
"""
