"""kvpress's tables (https://github.com/NVIDIA/kvpress, ``evaluation``): our own columns, told by two settings of its own.

Columns ``context``, ``question``, ``answer_prefix``, ``answer`` (a text or a list), ``max_new_tokens``, mostly ``task``. The two settings
are kept as metadata and change nothing: prompts and lengths are routelens's. Lists are read by ``task`` (``pieces.py``).
"""

from routelens.tasks.formats import columns
from routelens.tasks.formats.base import Format, Record


def _claims(record: Record) -> bool:
    return "answer_prefix" in record or "max_new_tokens" in record


FORMAT = Format("kvpress", _claims, columns.read)
