"""What a player sees of a state row: observation planes and action masks."""
