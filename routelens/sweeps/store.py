"""A run's folder: a manifest of its settings, and one Parquet file for every finished unit (D22 [S]).

A *unit* is one passage under one regime (one item, in ``aware_one``): what shares a prefill. Its rows are written to a
temporary file, synced and renamed in one step, so that a run killed at any moment holds whole units only, and goes on
where it stopped. Settings are compared with the manifest's before anything is read or written: rows of two
configurations never share a folder. One process writes at a time; any number may read, also while it writes.
"""

import contextlib
import errno
import functools
import hashlib
import importlib.metadata
import json
import math
import operator
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = "routelens-run/1"
MANIFEST, ROWS, LOCK = "manifest.json", "rows", "run.lock"

_TEXT, _FLAG = pa.string(), pa.bool_()
_INT32, _INT64, _FLOAT = pa.int32(), pa.int64(), pa.float64()
_CURVE = pa.list_(pa.float32())
_TYPE_NAMES = {
    _TEXT: "string",
    _FLAG: "bool",
    _INT32: "int32",
    _INT64: "int64",
    _FLOAT: "float64",
    _CURVE: "list of float32",
}
_AGREEMENT: tuple[tuple[str, str], ...] = (
    (
        "argmax_diversity",
        "distinct argmax tokens / query heads, mean over layers; low = agree (D8)",
    ),
    ("head_agreement", "share of query heads on the commonest argmax, mean over layers (D8)"),
    ("consensus_norm", "1 - (distinct - 1) / (heads - 1), mean over layers; high = agree (D8)"),
    ("topk_jaccard", "mean pairwise Jaccard of the heads' top tokens, mean over layers (D8)"),
    ("agreement_drop", "head_agreement: first third of the layers minus last third (D8)"),
    ("diversity_over_null", "distinct argmax tokens / those expected of uniform draws (D8)"),
)

COLUMNS: tuple[tuple[str, pa.DataType, str], ...] = (
    ("item_id", _TEXT, "the item"),
    ("passage_id", _TEXT, "the item's passage; intervals resample passages"),
    ("task", _TEXT, "task the item comes from"),
    ("question_type", _TEXT, "question tag"),
    ("answer_type", _TEXT, "answer tag"),
    ("direction", _TEXT, "forward (subject to attribute) or reverse"),
    ("answerable", _FLAG, "whether the passage says"),
    ("evidence_status", _TEXT, "located, not_locatable or unanswerable (D5)"),
    ("model", _TEXT, "model name"),
    ("model_revision", _TEXT, "revision of the weights"),
    ("dtype", _TEXT, "number format of weights and computation"),
    ("regime", _TEXT, "what the prefix holds beside the context (D19)"),
    ("policy", _TEXT, "eviction policy"),
    ("policy_config", _TEXT, "the policy's whole configuration, JSON"),
    ("compression_ratio", _FLOAT, "nominal fraction removed (D1); null when a budget was asked"),
    ("budget", _INT32, "entries per head asked for; null when a ratio was asked"),
    ("rounding", _TEXT, "how a ratio becomes a count: floor or kvpress (D1)"),
    ("seed", _INT64, "seed of the policy"),
    ("n_prefix", _INT32, "compressible tokens"),
    ("n_content", _INT32, "of these, content tokens: no sinks, template or question"),
    ("n_answer_tokens", _INT32, "answer-relevant tokens, |T_ans| (D5)"),
    ("compression_ratio_eff", _FLOAT, "fraction removed in fact (D1)"),
    ("n_kept_mean", _FLOAT, "kept entries per layer and KV head, mean"),
    ("n_kept_min", _INT32, "kept entries per layer and KV head, smallest"),
    ("n_content_kept", _FLOAT, "kept content tokens per layer and KV head, mean"),
    ("kv_bytes", _INT64, "bytes of the kept entries"),
    ("kv_bytes_full", _INT64, "bytes of the whole prefix's entries"),
    ("attainable", _FLAG, "false where protected entries exceeded the budget"),
    ("keep_hash", _TEXT, "hash of the keep mask"),
    ("eviction_rate_layer", _FLOAT, "mean of g over content tokens, layer scope (D4)"),
    ("eviction_rate_model", _FLOAT, "the same, model scope"),
    ("eviction_rate_soft", _FLOAT, "the same, soft scope"),
    ("ger_layer", _FLOAT, "mean of g over T_ans, layer scope; NaN when T_ans is empty (D4)"),
    ("ger_model", _FLOAT, "the same, model scope"),
    ("ger_soft", _FLOAT, "the same, soft scope"),
    ("delta_ger_layer", _FLOAT, "GER - eviction rate, layer scope (D4)"),
    ("delta_ger_model", _FLOAT, "the same, model scope"),
    ("delta_ger_soft", _FLOAT, "the same, soft scope"),
    ("k_eff", _FLOAT, "independent heads, ln(rate) / ln(ratio); NaN at a rate of 0 or 1 (D4)"),
    ("erased_layer", _FLAG, "erasure event, layer scope (D6); null without evidence"),
    ("erased_model", _FLAG, "the same, model scope"),
    ("erased_strict", _FLAG, "the same, strict scope"),
    ("erased_payload", _FLAG, "layer scope, payload groups only"),
    ("erased_bridge", _FLAG, "layer scope, bridge groups only; null without bridges"),
    *((name, _FLOAT, f"{meaning}, without sinks") for name, meaning in _AGREEMENT),
    *((f"{name}_with_sinks", _FLOAT, f"{meaning}, with sinks") for name, meaning in _AGREEMENT),
    ("head_agreement_by_layer", _CURVE, "head_agreement of each layer, without sinks"),
    ("argmax_diversity_by_layer", _CURVE, "argmax_diversity of each layer, without sinks"),
    ("drift_by_layer", _CURVE, "cosine of full and compressed residual, by layer (D24)"),
    ("reroute_rate", _FLOAT, "evicted argmaxes whose successor lies in T_ans (D9); NaN if none"),
    ("answer_mass", _FLOAT, "attention on T_ans, compressed / full (D9)"),
    ("retention", _FLOAT, "1 - soft eviction of T_ans (D24)"),
    ("accessible", _FLAG, "every required group reachable (D24); null without evidence"),
    ("accessible_any", _FLAG, "some evidence token reachable"),
    ("survived_but_wrong", _FLAG, "right with the full cache, not erased, wrong here (D9)"),
    ("outcome", _TEXT, "correct, unknown, hallucination or degenerate (D10)"),
    ("subclass", _TEXT, "of a hallucination: in_context or fabricated"),
    ("full_outcome", _TEXT, "outcome with the full cache, same item and regime"),
    ("transition", _TEXT, "full cache to compressed, right or wrong (D10)"),
    ("f1", _FLOAT, "word F1, 0 to 100 (D11)"),
    ("full_f1", _FLOAT, "F1 with the full cache, same item and regime"),
    ("exact_match", _FLAG, "equal to a gold after normalisation"),
    ("prediction", _TEXT, "the generated text"),
    ("gold", _TEXT, "the gold answer; null for an unanswerable item"),
    ("question", _TEXT, "the question"),
    ("n_answer_generated", _INT32, "generated tokens"),
    ("stopped", _FLAG, "the model ended the answer itself"),
    ("min_margin", _FLOAT, "smallest logit lead of a generated token over the next best"),
    ("log_p_gold", _FLOAT, "log-probability of the gold answer, nats"),
    ("wall_s", _FLOAT, "seconds, this row's share of its batch"),
)
"""Name, Arrow type and meaning of every column; the only place that lists them."""

SCHEMA: pa.Schema = pa.schema([pa.field(name, type_) for name, type_, _ in COLUMNS])
"""The Arrow schema of a row (D22 [S]); COLUMNS, and a manifest's ``columns``, say what each column means.

Null means that the column does not apply, NaN that the number could not be computed.
"""

REQUIRED = ("item_id", "passage_id", "regime", "policy")
KEY = (
    *("item_id", "regime", "policy", "policy_config"),
    *("compression_ratio", "budget", "rounding", "seed"),
)
"""What tells the rows of a run apart."""


def empty_row() -> dict[str, Any]:
    """A row with every column, all null."""
    return dict.fromkeys(SCHEMA.names)


def config_hash(config: Mapping[str, Any]) -> str:
    """Sixteen hex digits that equal configurations share: the order of keys, and 1 or 1.0, do not matter."""
    return _hash(_plain(config))


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
        path, asked = Path(path), _plain(config)
        with _storage(path):
            _refuse_foreign(path)
            (path / ROWS).mkdir(parents=True, exist_ok=True)
            lock = _acquire(path)
            try:
                manifest = read_manifest(path) if (path / MANIFEST).exists() else None
                if manifest is not None and not overwrite:
                    _check_same(path, manifest, asked)
                    manifest = _resumed(path, manifest)
                else:
                    _clear(path)
                    manifest = _new_manifest(asked, _plain(info or {}, "info"))
                    _write_atomic(path / MANIFEST, _json(manifest))
                _sweep_leftovers(path)
                return cls(path, manifest, _check_parts(path, manifest["config_hash"]), lock)
            except BaseException:
                _release(lock)
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
        with _storage(self.path):
            _write_atomic(_part_path(self.path, unit_id), data)
        self._done.add(unit_id)

    def close(self) -> None:
        """Let another process write."""
        _release(self._lock)

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of the run at ``path``: configuration, versions, model, device, when and where."""
    file = Path(path) / MANIFEST
    if not file.is_file():
        raise ValueError(
            f"read_manifest: {path} is not a run: it has no {MANIFEST}. "
            "Pass the folder that a sweep was given as its output."
        )
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"read_manifest: {file} cannot be read ({error}), so the settings of the rows beside it are unknown. "
            "Restore it, or sweep into another folder."
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(
            f"read_manifest: {file} is not the manifest of a run of this format ({FORMAT}). "
            "Pass a run's folder, or sweep into another one."
        )
    return manifest


def read_run(path: str | os.PathLike[str]) -> "pd.DataFrame":
    """All rows of the run at ``path``, finished or in progress; ``df.attrs["manifest"]`` is its manifest.

    Units come in the order of their ids, whatever order they were written in. Integers and flags are pandas' nullable
    types; in float columns null and NaN are both NaN. Unreadable files are left out with a warning.
    """
    import pandas as pd

    manifest = read_manifest(path)
    _check_columns(Path(path), manifest)
    parts = _read_parts(Path(path), manifest["config_hash"], with_rows=True)
    for part in parts:
        if part.fault:
            warnings.warn(
                f"read_run: left out {part.path}: {part.fault}. Resume the sweep to do its unit again.",
                stacklevel=2,
            )
    found = sorted(parts, key=lambda part: part.unit_id)
    tables = [part.table for part in found if part.table is not None]
    nullable = {_INT32: pd.Int32Dtype(), _INT64: pd.Int64Dtype(), _FLAG: pd.BooleanDtype()}
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
        if field.type == _TEXT:
            values = [_unicode(value) for value in values]
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


def _write_atomic(file: Path, data: bytes) -> None:
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
def _storage(path: Path) -> Iterator[None]:
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


def _acquire(path: Path) -> IO[bytes]:
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


def _release(lock: IO[bytes]) -> None:
    """Give up the lock; the file stays, since removing it would race with the next process."""
    if not lock.closed:
        with contextlib.suppress(OSError):
            lock.truncate(0)
        lock.close()


def _clear(path: Path) -> None:
    """Remove what a run wrote, rows first: until the last step the folder is a smaller run of the old settings."""
    for file in (path / ROWS).glob("part-*.parquet*"):
        if file.name.endswith((".parquet", ".parquet.corrupt")):
            file.unlink()


def _sweep_leftovers(path: Path) -> None:
    for file in [*(path / ROWS).glob(".part-*.tmp"), *path.glob(f".{MANIFEST}.*.tmp")]:
        file.unlink()


def _new_manifest(config: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    """A new run's manifest, its configuration compared on a resume and the rest recorded."""
    facts = {**config, **info}
    named = ("model", "model_revision", "dtype", "device", "seed")
    return {
        "format": FORMAT,
        "created": _now(),
        **{name: facts.get(name) for name in named},
        **_environment(),
        "config_hash": _hash(config),
        "config": config,
        "info": info,
        "resumed": [],
        "schema_hash": _schema_hash(),
        "columns": {name: f"{_TYPE_NAMES[type_]}: {meaning}" for name, type_, meaning in COLUMNS},
    }


def _resumed(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest, with a record added (and a warning) where the software or machine has changed since."""
    now = _environment()
    last = (manifest["resumed"] or [manifest])[-1]
    if all(last.get(name) == value for name, value in now.items()):
        return manifest
    if changes := _differences(last["versions"], now["versions"]):
        warnings.warn(
            f"RunStore.open: {path} goes on with other versions than before: {'; '.join(changes)}. "
            "The manifest records both.",
            stacklevel=3,
        )
    manifest = {**manifest, "resumed": [*manifest["resumed"], {"at": _now(), **now}]}
    _write_atomic(path / MANIFEST, _json(manifest))
    return manifest


def _environment() -> dict[str, Any]:
    """Versions, platform, threads and the package's commit, as far as they are known."""
    # Importing torch takes seconds, and where it is used it is loaded.
    torch = sys.modules.get("torch")
    packages = ("routelens", "torch", "transformers", "transformer-lens", "numpy", "pyarrow")
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            module = sys.modules.get(package.replace("-", "_"))
            versions[package] = getattr(module, "__version__", None)
    return {
        "versions": versions,
        "platform": platform.platform(),
        "threads": None if torch is None else torch.get_num_threads(),
        "git_commit": _git_commit(),
    }


@functools.cache
def _git_commit() -> str | None:
    """The commit of the checkout that holds this very file ("-dirty" when changed); None elsewhere."""
    here = Path(__file__).resolve()
    commit = None
    for arguments in (
        ("ls-files", "--error-unmatch", here.name),
        ("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"),
    ):
        try:
            done = subprocess.run(
                ["git", "-C", str(here.parent), *arguments],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        commit = done.stdout.strip()
    return commit


def _check_same(path: Path, manifest: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on under other settings than the stored ones."""
    _check_columns(path, manifest)
    if manifest["config_hash"] != _hash(asked):
        changes = "\n  ".join(_differences(manifest["config"], asked))
        raise ValueError(
            f"RunStore.open: a run has one configuration, and the one stored at {path} differs from the one asked:\n"
            f"  {changes}\nGo back to the stored settings to resume, pass another --out to keep both runs, or "
            "--overwrite to remove the stored one."
        )


def _check_columns(path: Path, manifest: dict[str, Any]) -> None:
    """Refuse a run whose rows have other columns than SCHEMA."""
    if manifest["schema_hash"] != _schema_hash():
        stored, known = set(manifest["columns"]), set(SCHEMA.names)
        raise ValueError(
            f"The run at {path} was written by routelens {manifest['versions']['routelens']} with other columns "
            f"(only there: {sorted(stored - known)}; only here: {sorted(known - stored)}). Read its rows with that "
            "version, or with pandas.read_parquet; sweep into another --out."
        )


def _differences(stored: Any, asked: Any, at: str = "") -> list[str]:
    """One line for every setting that differs: its dotted name, the stored value and the asked one."""
    if isinstance(stored, dict) and isinstance(asked, dict):
        lines = []
        for name in sorted({*stored, *asked}):
            where = f"{at}.{name}" if at else name
            if name not in asked or name not in stored:
                held, wanted = (
                    _short(side[name]) if name in side else "(absent)" for side in (stored, asked)
                )
                lines.append(f"{where}: stored {held}, asked {wanted}")
            else:
                lines += _differences(stored[name], asked[name], where)
        return lines
    if _canonical(stored) == _canonical(asked):
        return []
    if isinstance(stored, list) and isinstance(asked, list) and max(len(stored), len(asked)) > 6:
        lost = [value for value in stored if value not in asked]
        new = [value for value in asked if value not in stored]
        if lost or new:
            return [f"{at}: only stored {_short(lost)}, only asked {_short(new)}"]
    return [f"{at}: stored {_short(stored)}, asked {_short(asked)}"]


def _plain(value: Any, at: str = "config") -> Any:
    """The value in JSON's own types, so that what is compared is what is stored."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{at}: names of settings are strings; got {name!r}.")
        return {_unicode(name): _plain(entry, f"{at}.{name}") for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{at}[{index}]") for index, entry in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{at}: a setting is a finite number; got {value}.")
    if value is None or isinstance(value, str | bool | int | float):
        return _unicode(value)
    raise ValueError(
        f"{at}: a setting is a JSON value (text, number, true/false, null, list, object); got "
        f"{type(value).__name__}. Pass its configuration as a dict."
    )


def _canonical(value: Any) -> str:
    """JSON with sorted keys, whole floats written as integers: equal settings, equal text."""

    def whole(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {name: whole(inner) for name, inner in entry.items()}
        if isinstance(entry, list):
            return [whole(inner) for inner in entry]
        if isinstance(entry, float) and entry.is_integer():
            return int(entry)
        return entry

    return json.dumps(whole(value), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _hash(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:16]


def _schema_hash() -> str:
    return _hash([[name, _TYPE_NAMES[type_]] for name, type_, _ in COLUMNS])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}"


def _unicode(value: Any) -> Any:
    """The value, with lone surrogates of a text replaced: neither JSON nor Parquet can hold them."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _json(value: Any) -> bytes:
    """The value as indented JSON in UTF-8."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
