"""What a fresh ``pip install`` resolves to lies in ranges that end, and both tested versions lie in them."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DECLARED = {r.name: r for r in map(Requirement, PROJECT["dependencies"])}
EXTRAS = {
    name: [Requirement(text) for text in texts]
    for name, texts in PROJECT["optional-dependencies"].items()
}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "constraints" / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


@pytest.mark.parametrize("name", DECLARED)
def test_no_requirement_is_open_at_the_top(name):
    assert any(clause.operator in ("<", "<=", "==") for clause in DECLARED[name].specifier)


def test_a_transformers_that_drops_the_bridges_cache_is_shut_out():
    allowed = DECLARED["transformers"].specifier
    assert "5.24.0" not in allowed and "5.24.1" not in allowed
    assert "5.23.0" in allowed


@pytest.mark.parametrize(("file", "major"), [("tl3.txt", "3"), ("tl4.txt", "4")])
def test_each_tested_set_of_versions_is_allowed(file, major):
    pinned = pins(file)
    assert pinned["transformer-lens"].split(".")[0] == major
    for name in ("transformer-lens", "transformers", "torch"):
        assert DECLARED[name].specifier.contains(pinned[name].split("+")[0]), name


def test_the_extra_that_the_readme_installs_is_the_one_with_hooked_transformer():
    (narrowed,) = EXTRAS["hooked"]
    assert narrowed.name == "transformer-lens"
    assert pins("tl3.txt")["transformer-lens"] in narrowed.specifier
    assert pins("tl4.txt")["transformer-lens"] not in narrowed.specifier
    assert "'routelens[hooked]'" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["transformer-lens", "transformers", "torch"])
def test_the_tests_run_on_versions_that_are_declared(name):
    assert DECLARED[name].specifier.contains(version(name).split("+")[0])
