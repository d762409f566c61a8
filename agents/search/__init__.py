"""The compiled halves of the searching players: functions on state rows and plain arrays.

``patterns.py`` judges a row by 3 x 3 patterns with the tables of ``pattern_files.py``, and
``evaluation.py`` by features (sets of squares, ``bitboards.py``) with ``weights.py``;
``published.py`` reads either. ``captures.py`` lists captures, ``ordering.py`` says which decision
to try first, ``table.py`` remembers positions, ``pruning.py`` says what need not be searched, and
``negamax.py`` is the alpha-beta search, whose levels ``levels.py`` sets up in the arrays of
``workspace.py``; ``playouts.py`` plays on cheaply and ``tree.py`` grows a Monte Carlo
tree, which ``judge.py`` judges, or whose leaves ``leaves.py`` leaves to a network.
"""
