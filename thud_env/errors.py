"""What is raised for a user's mistake, or for what a user has to know."""


class ThudError(ValueError):
    """Something was refused, and the message says what and what would be right. Commands print it
    in a line; any other exception is a bug, and is shown with its traceback.
    """
