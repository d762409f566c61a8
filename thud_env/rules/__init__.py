"""The compiled rules: pure functions on one state row. The only place that knows a rule.

``row.py`` lays out the row, ``legal.py`` lists the legal decisions, ``play.py`` carries one out,
``turns.py`` counts and draws complete turns. ``match.py``, which is not compiled, adds up the
battles of a match.
"""
