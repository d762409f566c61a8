"""The ladder: a round robin of agents, with intervals for all that it reports.

::

    schedule -> play -> store -> results -> {statistics, rating} -> report, picture
"""
