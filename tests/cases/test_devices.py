"""Which device a model gets: MPS only when it is asked for, and then with a warning."""

import pytest
import torch
from tiny_models import build, tokenizer

import routelens as rl


def test_mps_is_never_chosen_by_itself(tiny_folder, monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    model = rl.load_model(tiny_folder("llama"))
    assert not rl.model_info(model).device.startswith("mps")


def test_mps_is_warned_of_when_it_is_asked_for():
    model = build("llama")
    with (
        pytest.warns(UserWarning, match="MPS has given wrong attention"),
        pytest.raises(ValueError, match="device mps"),
    ):
        rl.load_model(model, tokenizer=tokenizer(), device="mps")  # the model object is on the CPU
