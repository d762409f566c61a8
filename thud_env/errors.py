"""What is raised for a user's mistake, or for what a user has to know."""


class ThudError(ValueError):
    """Something was refused, and the message says what and what would be right. Commands print it
    in a line; any other exception is a bug, and is shown with its traceback.
    """


class IllegalMove(ThudError):  # noqa: N818 - the name is part of the public interface
    """An action or turn that is not legal in the position, or an action that none has."""
