"""A run's folder: a manifest of its settings, and one Parquet file for every finished unit (D22 [S]).

A *unit* is one passage under one regime (one item, in ``aware_one``): what shares a prefill. Its rows are written to a
temporary file, synced and renamed in one step, so that a run killed at any moment holds whole units only, and goes on
where it stopped. Settings are compared with the manifest's before anything is read or written: rows of two
configurations never share a folder. One process writes at a time; any number may read, also while it writes.
"""

import hashlib
import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

from routelens.files import write_atomic
from routelens.sweeps.files import LOCK, acquire, release, storage
from routelens.sweeps.manifest import (
    MANIFEST,
    as_bytes,
    check_columns,
    check_same,
    config_hash,
    new_manifest,
    plain,
    read_manifest,
    resumed,
    unicode,
)
from routelens.sweeps.schema import (
    COLUMNS,
    FLAG,
    INT32,
    INT64,
    KEY,
    REQUIRED,
    SCHEMA,
    TEXT,
    empty_row,
)

__all__ = [
    "COLUMNS",
    "SCHEMA",
    "RunStore",
    "config_hash",
    "empty_row",
    "read_manifest",
    "read_run",
]

ROWS = "rows"


class RunStore:
    """One run's folder, open for writing by this process alone; use it in a ``with`` block."""

    def __init__(
        self, path: Path, manifest: dict[str, Any], done: set[str], lock: IO[bytes]
    ) -> None:
        self.path, self.manifest = path, manifest
        self._done, self._lock = done, lock

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        config: Mapping[str, Any],
        *,
        info: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> "RunStore":
        """The run at ``path``: a new one, or the one begun there under an equal configuration.

        Args:
            path: The run's folder; made if need be. An existing folder is used when it is empty or holds a run.
            config: All that decides the results (JSON values). Another configuration than the stored one is refused.
            info: Facts to record but not to compare, such as the device or the batch size.
            overwrite: Begin again, removing the manifest and rows of the run there, and no other file.

        Raises:
            ValueError: The stored settings differ (the message lists which), the folder holds something else, or
                another process is writing.
            OSError: The folder cannot be written.
        """
        path, asked = Path(path), plain(config)
        with storage(path):
            _refuse_foreign(path)
            (path / ROWS).mkdir(parents=True, exist_ok=True)
            lock = acquire(path)
            try:
                manifest = read_manifest(path) if (path / MANIFEST).exists() else None
                if manifest is not None and not overwrite:
                    check_same(path, manifest, asked)
                    before, manifest = manifest, resumed(path, manifest)
                    if manifest is not before:
                        write_atomic(path / MANIFEST, as_bytes(manifest))
                else:
                    _clear(path)
                    manifest = new_manifest(asked, plain(info or {}, "info"))
                    write_atomic(path / MANIFEST, as_bytes(manifest))
                _sweep_leftovers(path)
                return cls(path, manifest, _check_parts(path, manifest["config_hash"]), lock)
            except BaseException:
                release(lock)
                raise

    def done(self, unit_id: str) -> bool:
        """Whether the unit's rows are safely on disk."""
        return unit_id in self._done

    @property
    def n_done(self) -> int:
        """Units on disk."""
        return len(self._done)

    def write(self, unit_id: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put a finished unit's rows on disk, all or none.

        Columns left out are null; characters that are not Unicode (lone surrogates) become U+FFFD.

        Raises:
            ValueError: The unit is written already, or a row has an unknown column, a value of the wrong type, no
                value in a required column, or the key of another row.
            OSError: The disk is full or the folder cannot be written; earlier units are intact.
        """
        if self._lock.closed:
            raise ValueError(f"RunStore.write: the run at {self.path} is closed; open it again.")
        if self.done(unit_id):
            raise ValueError(
                f"RunStore.write: a unit is written once; {unit_id!r} is on disk already. "
                "Ask store.done(unit_id) first."
            )
        data = _encode(_table(unit_id, list(rows)), unit_id, self.manifest["config_hash"])
        with storage(self.path):
            write_atomic(_part_path(self.path, unit_id), data)
        self._done.add(unit_id)

    def close(self) -> None:
        """Let another process write."""
        release(self._lock)

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_run(path: str | os.PathLike[str]) -> "pd.DataFrame":
    """All rows of the run at ``path``, finished or in progress; ``df.attrs["manifest"]`` is its manifest.

    Units come in the order of their ids, whatever order they were written in. Integers and flags are pandas' nullable
    types; in float columns null and NaN are both NaN. Unreadable files are left out with a warning.
    """
    import pandas as pd

    manifest = read_manifest(path)
    check_columns(Path(path), manifest)
    parts = _read_parts(Path(path), manifest["config_hash"], with_rows=True)
    for part in parts:
        if part.fault:
            warnings.warn(
                f"read_run: left out {part.path}: {part.fault}. Resume the sweep to do its unit again.",
                stacklevel=2,
            )
    found = sorted(parts, key=lambda part: part.unit_id)
    tables = [part.table for part in found if part.table is not None]
    nullable = {INT32: pd.Int32Dtype(), INT64: pd.Int64Dtype(), FLAG: pd.BooleanDtype()}
    frame = pa.concat_tables([SCHEMA.empty_table(), *tables]).to_pandas(types_mapper=nullable.get)
    frame.attrs["manifest"] = manifest
    return frame


@dataclass(frozen=True)
class _Part:
    """One file of rows as found on disk; ``fault`` says what is wrong with it, "" when nothing is."""

    path: Path
    unit_id: str = ""
    config_hash: str = ""
    table: pa.Table | None = None
    fault: str = ""


def _part_path(path: Path, unit_id: str) -> Path:
    digest = hashlib.sha256(unit_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return path / ROWS / f"part-{digest}.parquet"


def _table(unit_id: str, rows: list[Mapping[str, Any]]) -> pa.Table:
    """The rows as an Arrow table of SCHEMA, checked."""
    who = f"RunStore.write: unit {unit_id!r}"
    if unknown := sorted({name for row in rows for name in row} - set(SCHEMA.names)):
        raise ValueError(f"{who}: unknown columns {unknown}. The columns are those of SCHEMA.")
    for name in REQUIRED:
        if any(row.get(name) is None for row in rows):
            raise ValueError(f"{who}: every row needs a value for {name}.")
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        key = tuple(row.get(name) for name in KEY)
        if key in seen:
            twice = dict(zip(KEY, key, strict=True))
            raise ValueError(f"{who}: rows differ in one of {', '.join(KEY)}; twice came {twice}.")
        seen.add(key)
    columns = []
    for field in SCHEMA:
        values = [row.get(field.name) for row in rows]
        if field.type == TEXT:
            values = [unicode(value) for value in values]
        try:
            if pa.types.is_integer(field.type):  # Arrow would cut 1.5 down to 1
                values = [None if value is None else operator.index(value) for value in values]
            columns.append(pa.array(values, type=field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{who}: column {field.name} holds {field.type}: {error}") from error
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _encode(table: pa.Table, unit_id: str, run_hash: str) -> bytes:
    """The table as Parquet, carrying its unit, its run's configuration hash and its number of rows."""
    marks = {
        b"routelens.unit": unit_id.encode("utf-8", "surrogatepass"),
        b"routelens.config_hash": run_hash.encode(),
        b"routelens.n_rows": str(table.num_rows).encode(),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata(marks), sink, compression="zstd", write_page_checksum=True
    )
    return sink.getvalue().to_pybytes()


def _read_part(file: Path, with_rows: bool) -> _Part:
    """The file's unit (and rows), or what is wrong with it. Reads every page: their checksums are verified."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return _Part(file, fault="it has gone since the folder was listed")
    try:
        with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as parquet:
            table = parquet.read(use_threads=False)
        marks = table.schema.metadata or {}
        unit_id = marks[b"routelens.unit"].decode("utf-8", "surrogatepass")
        run_hash = marks[b"routelens.config_hash"].decode()
        n_rows = int(marks[b"routelens.n_rows"])
    except Exception as error:
        return _Part(file, fault=f"it is cut short or damaged ({str(error).splitlines()[0]})")
    if not table.schema.equals(SCHEMA):
        return _Part(file, fault="its columns are not those of a row")
    if table.num_rows != n_rows:
        return _Part(file, fault=f"it holds {table.num_rows} rows and should hold {n_rows}")
    if file.name != _part_path(file.parent.parent, unit_id).name:
        return _Part(file, fault=f"it is a copy of unit {unit_id!r} under another name")
    return _Part(file, unit_id, run_hash, table if with_rows else None)


def _read_parts(path: Path, run_hash: str, *, with_rows: bool) -> list[_Part]:
    files = sorted((path / ROWS).glob("part-*.parquet"))
    with ThreadPoolExecutor(max_workers=4) as pool:
        parts = list(pool.map(lambda file: _read_part(file, with_rows), files))
    for part in parts:
        if not part.fault and part.config_hash != run_hash:
            raise ValueError(
                f"{part.path} was written under other settings (configuration {part.config_hash}, this run's is "
                f"{run_hash}). Move it out of the folder."
            )
    return parts


def _check_parts(path: Path, run_hash: str) -> set[str]:
    """The units on disk; files that cannot be read are moved aside, so that their units are done again."""
    done = set()
    for part in _read_parts(path, run_hash, with_rows=False):
        if part.fault:
            aside = part.path.with_name(part.path.name + ".corrupt")
            part.path.replace(aside)
            warnings.warn(
                f"RunStore.open: moved {part.path} aside to {aside.name}: {part.fault}. Its unit will be done again.",
                stacklevel=3,
            )
        else:
            done.add(part.unit_id)
    return done


def _refuse_foreign(path: Path) -> None:
    """Refuse a folder that holds something other than a run."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"RunStore.open: a run is a folder; {path} is a file. Pass another --out.")
    if not path.is_dir():
        return
    if (path / MANIFEST).exists():
        read_manifest(path)
        return
    entries = {entry.name for entry in path.iterdir()} - {ROWS, LOCK}
    others = sorted(name for name in entries if not name.startswith(f".{MANIFEST}."))
    others += sorted(str(file.relative_to(path)) for file in (path / ROWS).glob("[!.]*"))
    if others:
        raise ValueError(
            f"RunStore.open: a run begins in a new or empty folder; {path} has no {MANIFEST} and holds "
            f"{', '.join(others[:5])}{' …' if len(others) > 5 else ''}. Nothing was touched; pass another --out."
        )


def _clear(path: Path) -> None:
    """Remove what a run wrote, rows first: until the last step the folder is a smaller run of the old settings."""
    for file in (path / ROWS).glob("part-*.parquet*"):
        if file.name.endswith((".parquet", ".parquet.corrupt")):
            file.unlink()


def _sweep_leftovers(path: Path) -> None:
    for file in [*(path / ROWS).glob(".part-*.tmp"), *path.glob(f".{MANIFEST}.*.tmp")]:
        file.unlink()
