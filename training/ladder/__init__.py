"""The ladder: a round robin of agents, with intervals for all that it reports.

::

    fields, schedule -> play -> entries, store -> tournament -> figures, rating -> report, publish
"""
