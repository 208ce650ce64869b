"""The one exception that users meet."""


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence that names the file or setting and the remedy; the command line prints it
    and ends with exit code 2. Settings are named in backquotes, as Python callers write them; the command line
    prints their flags instead.
    """
