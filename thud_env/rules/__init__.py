"""The compiled rules: pure functions on one state row. The only place that knows a rule.

``row.py`` lays out the row, ``legal.py`` says which decisions are legal, ``play.py``
carries one out, ``turns.py`` counts and draws complete turns.
"""
