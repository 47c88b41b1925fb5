"""A write that is whole or absent after a crash."""

import contextlib
import errno
import os
from pathlib import Path


def write_atomic(file: Path, data: bytes) -> None:
    """Put ``data`` at ``file`` in one step that survives a crash: temporary file, sync, rename, sync of the folder."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot do it
                raise
        finally:
            os.close(folder)
