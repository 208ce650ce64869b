"""Exceptions for users: bad input, or a failing machine."""


class InputError(ValueError):
    """The input cannot be used.

    The message is one sentence that names the file or setting and the remedy; the command line prints it
    and ends with exit code 2. Settings are named in backquotes, as Python callers write them; the command line
    prints their flags instead.
    """


class FileError(OSError):
    """A file cannot be written or read because of the machine: a full disk, a failing disk.

    The message is one sentence; the command line prints it and ends with exit code 1.
    """


class ClusterError(RuntimeError):
    """Machines of a cluster failed, and trying again did not help; reported as `FileError` is."""


class DeviceError(RuntimeError):
    """A computing device failed or has too little memory; reported as `FileError` is."""
