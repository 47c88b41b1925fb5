"""Running a HookedTransformer or a TransformerBridge with its attention replaced, layer by layer.

Both classes keep everything of their own (embeddings, norms, MLPs, projections, soft caps) and all their hook points; only the
softmax(QKᵀ)V inside each attention component is handed to an *attend* function, for the length of one call. Nothing is patched
outside that call, and no other model in the process is touched. This module and its neighbours in ``models/`` are the only
ones that know TransformerLens.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from routelens.models.attention import Attend, AttentionSite, Heads
from routelens.models.supported import bridge_problem, hooked_transformer_problem, windows

Rotary = Callable[[Int[Tensor, " position"]], tuple[Tensor, Tensor]]


def rotate_half(x: Tensor) -> Tensor:
    """(x₁, x₂) → (−x₂, x₁) over the halves of the last axis."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """RoPE on the first ``cos.shape[-1]`` dimensions; cos and sin broadcast over the heads."""
    width = cos.shape[-1]
    turned = x[..., :width] * cos + rotate_half(x[..., :width]) * sin
    return turned if width == x.shape[-1] else torch.cat([turned, x[..., width:]], dim=-1)


class Adapter:
    """What both kinds of model share. ``n_kv_heads`` is TransformerLens's ``n_key_value_heads``."""

    kind: str
    can_start_late = False

    def __init__(self, model: Any) -> None:
        self.model = model
        cfg = model.cfg
        self.n_layers = int(cfg.n_layers)
        self.n_heads = int(cfg.n_heads)
        self.n_kv_heads = int(getattr(cfg, "n_key_value_heads", None) or cfg.n_heads)
        self.d_head = int(cfg.d_head)
        self.d_model = int(cfg.d_model)
        self.n_ctx = int(cfg.n_ctx)
        self.d_vocab = int(cfg.d_vocab)

    @property
    def blocks(self) -> Any:
        return self.model.blocks

    def site(self, layer: int) -> AttentionSite:
        raise NotImplementedError

    def rotary(self, layer: int) -> Rotary:
        raise NotImplementedError

    def plain_logits(
        self, token_ids: Int[Tensor, "batch pos"]
    ) -> Float[Tensor, "batch pos d_vocab"]:
        """The model's own forward, nothing replaced."""
        raise NotImplementedError

    def run(
        self,
        token_ids: Int[Tensor, "batch pos"],
        positions: Int[Tensor, "batch pos"],
        attend: Attend,
        *,
        logit_rows: Int[Tensor, "batch row"] | None,
        residual: Callable[[int, Tensor], None] | None = None,
        start: tuple[int, Float[Tensor, "batch pos d_model"]] | None = None,
    ) -> Float[Tensor, "batch row d_vocab"] | None:
        """Logits at the asked rows (None: no unembedding at all), with ``attend`` in place of attention.

        ``residual(layer, x)`` sees the stream before each layer, and after the last under index n_layers. ``start`` is a layer and
        the stream before it: layers below are not run (where ``can_start_late``).
        """
        if start is not None and not self.can_start_late:
            raise ValueError(
                f"routelens: a {self.kind} runs from its first layer on; pass no start."
            )
        device = self.device
        lowest, highest = int(token_ids.min()), int(token_ids.max())
        if lowest < 0 or highest >= self.d_vocab:
            raise ValueError(
                f"routelens: token ids lie in [0, {self.d_vocab}) for this model; got "
                f"{lowest if lowest < 0 else highest}. Were they made with another model's tokenizer?"
            )
        with self._replaced(attend), self._watched(residual):
            return self._forward(
                token_ids.to(device),
                positions.to(device),
                None if logit_rows is None else logit_rows.to(device),
                **({} if start is None else {"start": start}),
            )

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    def _forward(
        self, token_ids: Tensor, positions: Tensor, logit_rows: Tensor | None, **start: Any
    ) -> Any:
        raise NotImplementedError

    def _attention_forward(self, layer: int, attend: Attend) -> Callable[..., Any]:
        raise NotImplementedError

    @contextlib.contextmanager
    def _replaced(self, attend: Attend) -> Iterator[None]:
        """Each attention component's forward is ours until the block ends, however it ends."""
        components = [block.attn for block in self.blocks]
        before = [component.__dict__.get("forward") for component in components]
        try:
            for layer, component in enumerate(components):
                component.__dict__["forward"] = self._attention_forward(layer, attend)
            yield
        finally:
            for component, forward in zip(components, before, strict=True):
                if forward is None:
                    component.__dict__.pop("forward", None)
                else:
                    component.__dict__["forward"] = forward

    @contextlib.contextmanager
    def _watched(self, residual: Callable[[int, Tensor], None] | None) -> Iterator[None]:
        handles = []
        if residual is not None:
            last = self.n_layers - 1
            for layer, block in enumerate(self.blocks):
                handles.append(
                    nn.Module.register_forward_pre_hook(
                        block,
                        lambda _, args, kwargs, layer=layer: residual(
                            layer, args[0] if args else kwargs["hidden_states"]
                        ),
                        with_kwargs=True,
                    )
                )
            handles.append(
                self.blocks[last].register_forward_hook(
                    lambda _module, _args, out: residual(
                        self.n_layers, out[0] if isinstance(out, tuple) else out
                    )
                )
            )
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


class HookedAdapter(Adapter):
    """A HookedTransformer (TransformerLens 3): rotary or learned positions, grouped or plain heads."""

    kind = "HookedTransformer"
    can_start_late = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._long_tables: dict[str, tuple[Tensor, Tensor]] = {}

    def site(self, layer: int) -> AttentionSite:
        attn, cfg = self.blocks[layer].attn, self.model.cfg
        cap = cfg.attn_scores_soft_cap
        return AttentionSite(
            layer=layer,
            scale=1.0 / float(attn.attn_scale),
            softcap=float(cap) if cap is not None and cap > 0 else None,
            window=int(cfg.window_size) if attn.attn_type == "local" else None,
            scores_hook=attn.hook_attn_scores,
            pattern_hook=attn.hook_pattern,
        )

    def rotary(self, layer: int) -> Rotary:
        attn = self.blocks[layer].attn
        if self.model.cfg.positional_embedding_type != "rotary":
            return _no_rotary

        def tables(positions: Tensor) -> tuple[Tensor, Tensor]:
            cos, sin = self._tables(attn, int(positions.max()) + 1)
            index = positions.to(cos.device)
            return cos[index], sin[index]

        return tables

    def _tables(self, attn: Any, needed: int) -> tuple[Tensor, Tensor]:
        """Cos and sin of at least ``needed`` positions: the model's own, or longer ones beside it.

        Positions past n_ctx are legal here: Expected Attention looks ahead of the prompt.
        """
        if needed <= attn.rotary_cos.shape[0]:
            return attn.rotary_cos, attn.rotary_sin
        held = self._long_tables.get(attn.attn_type)
        if held is None or needed > held[0].shape[0]:
            n_positions = -(-needed // 1024) * 1024
            sin, cos = attn.calculate_sin_cos_rotary(
                self.model.cfg.rotary_dim, n_positions, base=attn._rotary_base(), dtype=self.dtype
            )
            held = cos.to(attn.rotary_cos.device), sin.to(attn.rotary_cos.device)
            self._long_tables[attn.attn_type] = held
        return held

    def plain_logits(self, token_ids: Tensor) -> Tensor:
        token_ids = token_ids.to(self.device)
        # Without a mask, a tokenizer that pads on the left would have leading pad ids hidden.
        everything = torch.ones_like(token_ids)
        return self.model(token_ids, return_type="logits", attention_mask=everything)

    def _forward(
        self,
        token_ids: Tensor,
        positions: Tensor,
        logit_rows: Tensor | None,
        start: tuple[int, Tensor] | None = None,
    ) -> Any:
        model = self.model
        self._positions = positions
        first, stream = (0, self._embedded(token_ids, positions)) if start is None else start
        for block in model.blocks[first:]:
            stream = block(stream.to(block.attn.W_Q.device))
        if logit_rows is None:
            return None
        rows = logit_rows.to(stream.device)[..., None].expand(-1, -1, stream.shape[-1])
        stream = stream.gather(1, rows)
        if model.cfg.normalization_type is not None:
            stream = model.ln_final(stream)
        logits = model.unembed(stream)
        cap = model.cfg.output_logits_soft_cap
        return cap * torch.tanh(logits / cap) if cap is not None and cap > 0 else logits

    def _embedded(self, token_ids: Tensor, positions: Tensor) -> Tensor:
        """The stream before the first layer."""
        model = self.model
        if model.cfg.use_hook_tokens:
            token_ids = model.hook_tokens(token_ids)
        stream = model.hook_embed(model.embed(token_ids))
        if model.cfg.positional_embedding_type == "standard":
            stream = stream + model.hook_pos_embed(model.pos_embed.W_pos[positions])
        return stream

    def _attention_forward(self, layer: int, attend: Attend) -> Callable[..., Any]:
        attn, site, tables = self.blocks[layer].attn, self.site(layer), self.rotary(layer)
        rotary = self.model.cfg.positional_embedding_type == "rotary"

        def forward(
            query_input: Tensor, key_input: Tensor, value_input: Tensor, **_: Any
        ) -> Tensor:
            q, k, v = attn.calculate_qkv_matrices(query_input, key_input, value_input)
            unrotated = q
            if rotary:
                positions = self._positions.to(q.device)
                cos, sin = (x[:, :, None].to(q.device) for x in tables(positions))
                q = attn.hook_rot_q(rotate(q, cos, sin))
                k = attn.hook_rot_k(rotate(k, cos, sin))
            z = attn.hook_z(attend(site, Heads(q, k, v, unrotated)).to(v.dtype))
            if attn.cfg.use_attn_result:
                result = torch.einsum("bphd,hdm->bphm", z, attn.W_O)
                return attn.hook_result(result).sum(dim=2) + attn.b_O
            # The layout W_O is stored in makes this reshape a view; see loading.with_fast_layout.
            weight = attn.W_O.permute(2, 0, 1).reshape(attn.W_O.shape[2], -1)
            return nn.functional.linear(z.flatten(2), weight, attn.b_O)

        return forward


class BridgeAdapter(Adapter):
    """A TransformerBridge (TransformerLens 3.9 and 4): the Hugging Face model in place, hook points around it."""

    kind = "TransformerBridge"

    @property
    def hf_model(self) -> Any:
        return self.model.original_model

    def site(self, layer: int) -> AttentionSite:
        attn = self.blocks[layer].attn
        hf_attn = attn.original_component
        return AttentionSite(
            layer=layer,
            scale=float(getattr(hf_attn, "scaling", self.d_head**-0.5)),
            softcap=getattr(hf_attn, "attn_logit_softcapping", None),
            window=windows(self.hf_model.config)[layer],
            scores_hook=attn.hook_attn_scores,
            pattern_hook=attn.hook_pattern,
        )

    def rotary(self, layer: int) -> Rotary:
        rotary_emb = self.hf_model.base_model.rotary_emb

        def tables(positions: Tensor) -> tuple[Tensor, Tensor]:
            probe = torch.empty(1, 1, 1, self.d_head, dtype=self.dtype, device=self.device)
            flat = positions.reshape(1, -1).to(self.device)
            cos, sin = rotary_emb(probe, flat)
            shape = (*positions.shape, cos.shape[-1])
            return cos.reshape(shape), sin.reshape(shape)

        return tables

    def plain_logits(self, token_ids: Tensor) -> Tensor:
        return self.model(token_ids.to(self.device), return_type="logits")

    def _forward(
        self, token_ids: Tensor, positions: Tensor, logit_rows: Tensor | None, **start: Any
    ) -> Any:
        hf_model = self.hf_model
        out = hf_model.base_model(input_ids=token_ids, position_ids=positions, use_cache=False)
        if logit_rows is None:
            return None
        stream = out.last_hidden_state
        rows = logit_rows.to(stream.device)[..., None].expand(-1, -1, stream.shape[-1])
        logits = hf_model.get_output_embeddings()(stream.gather(1, rows))
        cap = getattr(hf_model.config, "final_logit_softcapping", None)
        return cap * torch.tanh(logits / cap) if cap is not None else logits

    def _attention_forward(self, layer: int, attend: Attend) -> Callable[..., Any]:
        attn, site = self.blocks[layer].attn, self.site(layer)
        hf_attn = attn.original_component
        norms = [name in attn.submodules for name in ("q_norm", "k_norm")]

        def forward(hidden_states: Tensor, **kwargs: Any) -> tuple[Tensor, None]:
            hidden_states = attn.hook_in(hidden_states)
            shape = (*hidden_states.shape[:-1], -1, hf_attn.head_dim)
            q, k, v = (part(hidden_states).view(shape) for part in (attn.q, attn.k, attn.v))
            if norms[0]:
                q = attn.hook_q_normed(attn.q_norm(q))
            if norms[1]:
                k = attn.hook_k_normed(attn.k_norm(k))
            unrotated = q
            cos, sin = attn._apply_position_embedding_hooks(kwargs["position_embeddings"])
            cos, sin = cos[:, :, None], sin[:, :, None]
            # The bridge's rotary hooks see [batch, head, pos, d_head].
            q = attn.hook_rot_q(rotate(q, cos, sin).transpose(1, 2)).transpose(1, 2)
            k = attn.hook_rot_k(rotate(k, cos, sin).transpose(1, 2)).transpose(1, 2)
            z = attend(site, Heads(q, k, v, unrotated)).to(v.dtype)
            return attn.hook_out(attn.o(z.flatten(2))), None

        return forward


def _no_rotary(positions: Tensor) -> tuple[Tensor, Tensor]:
    """RoPE of width 0: nothing rotates."""
    empty = torch.empty(*positions.shape, 0, device=positions.device)
    return empty, empty


def adapt(model: Any) -> Adapter:
    """The adapter for a model; ValueError for anything that is neither class, or that would be run wrongly."""
    names = {cls.__name__ for cls in type(model).__mro__}
    if "HookedTransformer" in names:
        adapter, problem = HookedAdapter, hooked_transformer_problem(model.cfg)
    elif "TransformerBridge" in names:
        adapter, problem = BridgeAdapter, bridge_problem(model)
    else:
        raise ValueError(
            "routelens: a model is a HookedTransformer or a TransformerBridge (TransformerLens); got "
            f"{type(model).__name__}. Pass a Hugging Face model through rl.load_model(model, tokenizer=…)."
        )
    if problem is not None:
        raise ValueError(
            f"routelens: this {adapter.kind} cannot be masked correctly, because of {problem}."
        )
    return adapter(model)
