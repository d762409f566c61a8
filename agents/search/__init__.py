"""The compiled halves of the searching players: functions on state rows and plain arrays.

``bitboards.py`` holds sets of squares, ``evaluation.py`` judges a row by them and by
``weights.py``; ``captures.py`` lists captures, ``ordering.py`` says which decision to try
first, ``table.py`` remembers positions, and ``negamax.py`` is the alpha-beta search, in the
arrays of ``workspace.py``; ``playouts.py`` plays on cheaply and ``tree.py`` grows a Monte
Carlo tree, whose leaves ``leaves.py`` leaves to somebody else to judge.
"""
