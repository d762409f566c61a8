"""The compiled parts of the searching players: functions on state rows and plain arrays.

- Evaluation: ``patterns.py`` adds up values of 3 x 3 patterns and of lines (``lines.py``), from
  tables (``pattern_files.py``); ``evaluation.py`` weighs features, counted on sets of squares
  (``bitboards.py``), by ``weights.py``. ``evaluator.py`` says which of the two is used.
- Alpha-beta: ``negamax.py`` is the search and ``levels.py`` one level of it. ``captures.py`` lists
  captures, ``ordering.py`` scores decisions, ``table.py`` is the transposition table,
  ``pruning.py`` leaves decisions out, ``stone.py`` sees wins by the stone, ``strikes.py`` what
  could be captured next (for networks, too), ``workspace.py`` holds the arrays. ``deepening.py``
  searches deeper and deeper until a limit is reached.
- MCTS: ``tree.py`` holds trees and follows them down and up. ``growth.py`` grows one: ``priors.py``
  says what to try first, ``playouts.py`` values the leaves by ``judge.py``. ``leaves.py`` grows
  many, and collects the leaves for a network; ``gumbel.py`` chooses at the root. ``reading.py``
  reads the result. ``lookahead.py`` values many positions by short searches.
  ``scale.py`` is the scale of values that trees and networks share.
- ``thought.py`` is what a search returns, ``stopping.py`` its clock.
"""
