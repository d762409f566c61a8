"""The ladder: a round robin of agents, with intervals for all that it reports.

::

    fields -> arena: field, games -> entries, store -> tournament
           -> figures, rating -> report, publish
"""
