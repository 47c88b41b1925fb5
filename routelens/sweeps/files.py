"""A run's files: a lock that dies with its process, and errors that say what to do."""

import contextlib
import errno
import os
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


LOCK = "run.lock"


_NO_PERMISSION = "there is no permission to write; change it, or pass another --out"
_IN_THE_WAY = "a part of the path is a file; pass another --out"
_ADVICE = {
    getattr(errno, "EDQUOT", errno.ENOSPC): "the quota is full; free some space",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EACCES: _NO_PERMISSION,
    errno.EPERM: _NO_PERMISSION,
    errno.EROFS: "the file system is read-only; pass another --out",
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
}


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do, keeping their kind and number."""
    try:
        yield
    except OSError as error:
        number = error.errno or errno.EIO
        advice = _ADVICE.get(
            number, f"{error.strerror or error}; put that right, or pass another --out"
        )
        raise OSError(
            number,
            f"RunStore: cannot write the run at {path}: {advice}. Finished units are intact; the same command goes on "
            "from them.",
        ) from error


def acquire(path: Path) -> IO[bytes]:
    """The lock file, held until closed. The system drops the lock with the process, so a killed run leaves none."""
    handle = (path / LOCK).open("a+b", buffering=0)
    try:
        if fcntl is None:
            raise OSError(errno.ENOTSUP, "no file locks on this platform")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.seek(0)
        owner = handle.read().decode(errors="replace") or "unknown"
        handle.close()
        own = owner.split(" ")[0] == str(os.getpid())
        raise ValueError(
            f"RunStore.open: one process writes a run at a time; {path} is being written by process {owner}"
            f"{', which is this one: close its store first' if own else '. Wait for it, or stop it'}, "
            "or pass another --out."
        ) from None
    except OSError as error:
        warnings.warn(
            f"RunStore.open: {path} cannot be locked ({error.strerror}); do not sweep into it from two processes.",
            stacklevel=3,
        )
    with contextlib.suppress(OSError):  # the text is for the other process's message only
        handle.truncate(0)
        handle.write(f"{os.getpid()} on {platform.node()}".encode())
    return handle


def release(lock: IO[bytes]) -> None:
    """Give up the lock; the file stays, since removing it would race with the next process."""
    if not lock.closed:
        with contextlib.suppress(OSError):
            lock.truncate(0)
        lock.close()
