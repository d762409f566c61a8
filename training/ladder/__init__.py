"""The ladder: a round robin of agents, and what its results do and do not show.

::

    schedule -> play -> store -> results -> {statistics, rating} -> report, picture
"""
