"""The compiled rules: functions on one state row, without any other state. The only place that
knows a rule.

``row.py`` lays out the row, ``traits.py`` asks it what its ruleset allows, ``moves.py`` finds where
pieces can go, ``legal.py`` lists the legal decisions and ``draw.py`` draws one, ``play.py`` carries
one out in place, ``turns.py`` counts and draws complete turns. ``images.py`` turns and mirrors
rows, ``check.py`` tells whether play can reach a row from outside. ``match.py``, which is not
compiled, adds up the battles of a match.
"""
