"""What drover raises and warns of. The texts are those of the command, with options as keywords."""


class Error(Exception):
    """Everything that drover raises."""


class UsageError(Error, ValueError):
    """A wrong option or argument."""


class DataError(Error, ValueError):
    """A file or model that cannot mean anything."""


class MisfitError(Error, ValueError):
    """A method that does not fit the model."""


class ReadError(Error, OSError):
    """A file that is missing or unreadable."""


class WriteError(Error, OSError):
    """A file that cannot be written."""


class StoppedError(Error, TimeoutError):
    """The time limit came before there was any result."""


class ConvergenceWarning(UserWarning):
    """A run that has not converged: its verdict says how far to trust it."""


class InterruptedWarning(UserWarning):
    """Ctrl-C ended a run: what it gave is the result so far."""
