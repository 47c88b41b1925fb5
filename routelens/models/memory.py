"""How much memory a device has free, so that batches fit it, and what will not fit is said before it is tried."""

import warnings
from pathlib import Path

import torch


def free_bytes(device: torch.device) -> int:
    """Bytes free on the device; for a CPU, what the system can give without swapping."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return free + cached
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 4 << 30


def warn_if_short(what: str, needed: float, device: torch.device) -> None:
    """A warning where ``what`` is estimated to need more bytes than the device has free."""
    free = free_bytes(device)
    if needed > free:
        warnings.warn(
            f"{what} is estimated to need {needed / 2**30:.2g} GiB, and {device} has {free / 2**30:.2g} GiB free: it "
            "may fail or be very slow. A shorter passage, a smaller batch_size, half precision or a trace of fewer rows "
            "needs less.",
            stacklevel=3,
        )
