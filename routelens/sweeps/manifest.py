"""A run's manifest: the configuration that decides its results, and what made them.

Two configurations are equal when their canonical JSON is; a resumed run must have the stored one, while versions and
machine are recorded, and a change of versions is warned of.
"""

import functools
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from routelens.sweeps.schema import COLUMNS, SCHEMA, TYPE_NAMES

FORMAT = "routelens-run/1"
MANIFEST = "manifest.json"


def config_hash(config: Mapping[str, Any]) -> str:
    """Sixteen hex digits that equal configurations share: the order of keys, and 1 or 1.0, do not matter."""
    return _hash(plain(config))


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


def new_manifest(config: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
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
        "columns": {name: f"{TYPE_NAMES[type_]}: {meaning}" for name, type_, meaning in COLUMNS},
    }


def resumed(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
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
    return {**manifest, "resumed": [*manifest["resumed"], {"at": _now(), **now}]}


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
        "platform": f"{platform.system()} {platform.machine()}",
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


def check_same(path: Path, manifest: dict[str, Any], asked: dict[str, Any]) -> None:
    """Refuse to go on under other settings than the stored ones."""
    check_columns(path, manifest)
    if manifest["config_hash"] != _hash(asked):
        changes = "\n  ".join(_differences(manifest["config"], asked))
        raise ValueError(
            f"RunStore.open: a run has one configuration, and the one stored at {path} differs from the one asked:\n"
            f"  {changes}\nGo back to the stored settings to resume, pass another --out to keep both runs, or "
            "--overwrite to remove the stored one."
        )


def check_columns(path: Path, manifest: dict[str, Any]) -> None:
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


def plain(value: Any, at: str = "config") -> Any:
    """The value in JSON's own types, so that what is compared is what is stored."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"{at}: names of settings are strings; got {name!r}.")
        return {unicode(name): plain(entry, f"{at}.{name}") for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, f"{at}[{index}]") for index, entry in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{at}: a setting is a finite number; got {value}.")
    if value is None or isinstance(value, str | bool | int | float):
        return unicode(value)
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
    return _hash([[name, TYPE_NAMES[type_]] for name, type_, _ in COLUMNS])


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:100]} … {text[-50:]}"


def unicode(value: Any) -> Any:
    """The value, with lone surrogates of a text replaced: neither JSON nor Parquet can hold them."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def as_bytes(value: Any) -> bytes:
    """The value as indented JSON in UTF-8."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
