"""Tasks by name and with options: what is refused, and what an option does to ids."""

from dataclasses import dataclass

import pytest

from routelens.tasks import iter_task, load_task
from routelens.tasks.knowledge import Knowledge


def test_an_unknown_task_names_the_nearest():
    with pytest.raises(ValueError, match=r"got 'knowlege'.*Did you mean 'knowledge'"):
        load_task("knowlege")


def test_wrong_options_and_counts_are_refused_at_the_call():
    with pytest.raises(ValueError, match="questions_per_passage.*got question_count"):
        iter_task("base", question_count=3)
    with pytest.raises(ValueError, match="between 1 and 6; got 7"):
        iter_task("base", questions_per_passage=7)
    with pytest.raises(ValueError, match="n_passages is at least 1; got 0"):
        iter_task("base", n_passages=0)
    with pytest.raises(ValueError, match="seed is an integer from 0 on; got -1"):
        iter_task("base", seed=-1)


def test_an_option_that_changes_the_text_changes_the_ids():
    @dataclass(frozen=True)
    class Louder(Knowledge):
        volume: int = 1

    assert Louder().passage(0)[0].id == Knowledge().passage(0)[0].id
    assert Louder(volume=2).passage(0)[0].id != Knowledge().passage(0)[0].id
