"""How much memory a device has free, so that batches fit it."""

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
