"""Policies by name, by configuration and as objects."""

import json

import pytest
from policy_cases import EVERY_POLICY, label

from routelens.policies import (
    ALIASES,
    POLICIES,
    AdaKV,
    Chunk,
    ExpectedAttention,
    KeyNorm,
    Policy,
    Random,
    SinkRecent,
    SnapKV,
    list_policies,
    make_policy,
)


def test_a_name_stands_for_the_registrys_default():
    assert make_policy("snapkv") == SnapKV(window_size=64, kernel_size=5)
    assert make_policy("adakv") == AdaKV(ExpectedAttention(), safeguard=0.2)
    assert make_policy("chunk") == Chunk(ExpectedAttention(), chunk_length=64)
    assert all(make_policy(name).name == name for name in POLICIES)


def test_an_alias_stands_for_its_policy():
    assert make_policy("streaming_llm") == SinkRecent()
    assert make_policy("Streaming-LLM") == SinkRecent()
    assert {make_policy(alias).name for alias in ALIASES} == {"full", "sink_recent", "key_norm"}


def test_options_are_set_by_name_and_inner_policies_in_any_form():
    assert make_policy("snapkv", window_size=16) == SnapKV(window_size=16)
    assert make_policy("adakv", policy="snapkv") == AdaKV(SnapKV())
    assert make_policy("chunk", policy=KeyNorm(), chunk_length=8) == Chunk(
        KeyNorm(), chunk_length=8
    )
    assert make_policy(AdaKV(KeyNorm()), policy="snapkv") == AdaKV(SnapKV())
    assert make_policy(SnapKV(), kernel_size=7) == SnapKV(kernel_size=7)


def test_a_policy_passes_through():
    policy = SnapKV(window_size=16)
    assert make_policy(policy) is policy


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=label)
def test_a_configuration_survives_json(policy):
    config = json.loads(json.dumps(policy.config()))
    assert config["name"] == policy.name
    assert make_policy(config) == policy


@pytest.mark.parametrize(
    ("wrong", "near"), [("snapvk", "'snapkv'"), ("ada_kv", "'adakv'"), ("key_norms", "'key_norm'")]
)
def test_an_unknown_name_is_refused_with_the_nearest(wrong, near):
    with pytest.raises(ValueError, match=rf"no policy is named '{wrong}'\. Did you mean {near}"):
        make_policy(wrong)


def test_a_name_near_to_nothing_lists_what_there_is():
    with pytest.raises(ValueError, match=r"named 'zzz'\. Known: full, random, sink_recent"):
        make_policy("zzz")


def test_an_unknown_option_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match="SnapKV: its options are window_size, kernel_size; got window"
    ):
        make_policy("snapkv", window=3)
    with pytest.raises(ValueError, match="Full: its options are none; got n_sink"):
        make_policy("full", n_sink=3)


def test_a_configuration_without_a_name_is_refused():
    with pytest.raises(ValueError, match=r"holds the policy's 'name'; got the keys \['n_sink'\]"):
        make_policy({"n_sink": 4})


def test_describe_shows_every_option():
    described = AdaKV(SnapKV(window_size=16)).describe()
    assert described == "adakv(policy=snapkv(window_size=16, kernel_size=5), safeguard=0.2)"


def test_a_wrapper_is_query_aware_when_its_inner_policy_is():
    assert SnapKV.query_aware and AdaKV(SnapKV()).query_aware and Chunk(AdaKV(SnapKV())).query_aware
    assert not AdaKV.query_aware and not AdaKV(KeyNorm()).query_aware


def test_a_seed_reaches_the_random_policy_inside_a_wrapper():
    assert Random().reseeded(5) == Random(seed=5)
    assert Chunk(AdaKV(Random())).reseeded(5) == Chunk(AdaKV(Random(seed=5)))
    assert KeyNorm().reseeded(5) == KeyNorm()


def test_the_list_shows_paper_awareness_defaults_and_deviations_of_all():
    rows = {row.name: row for row in list_policies()}
    assert list(rows) == list(POLICIES)
    assert rows["snapkv"].paper == "https://arxiv.org/abs/2404.14469"
    assert [name for name, row in rows.items() if row.query_aware] == ["snapkv"]
    assert rows["sink_recent"].aliases == ("streaming_llm",)
    assert rows["adakv"].defaults["policy"]["name"] == "expected_attention"
    assert all(row.summary and row.deviations for row in rows.values())
    assert all(
        row.paper.startswith("https://")
        for row in rows.values()
        if row.name not in ("full", "random")
    )
    json.dumps([row.defaults for row in rows.values()])


def test_policies_are_values():
    assert SnapKV() == SnapKV() and len({SnapKV(), SnapKV(), SnapKV(window_size=3)}) == 2
    with pytest.raises(AttributeError):
        SnapKV().window_size = 3


def test_the_base_class_is_no_policy():
    with pytest.raises(TypeError, match="abstract"):
        Policy()
