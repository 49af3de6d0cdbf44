"""Writes a language model of 0.7 MB with random weights, as a GGUF file: real servers serve it, and it says nothing.

One trick makes random weights usable. The first number of every hidden state is held at a large constant, so that the
first column of the output matrix is a bias for each token: whole words and quotation marks are likely, control bytes
impossible. Words need all their beginnings as tokens, since the tokenizer joins pieces step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, LAYERS, HEADS, CONTEXT = 64, 2, 4, 65536
HELD = 4.0
NEVER, RARE, LIKELY, END = -60.0, -4.0, 1.0, 2.5
WORDS = (
    "the", "a", "of", "to", "and", "is", "we", "they", "tax", "carbon", "policy", "vote", "people", "think",
    "agree", "disagree", "support", "oppose", "news", "fact", "climate", "city", "school", "health", "because",
    "not", "more", "less", "good", "bad", "true", "false", "never", "always", "today", "should", "would", "cannot",
    "share", "post",
)  # fmt: skip
TEMPLATE = (
    "{% for m in messages %}{{'<|im_start|>'+m['role']+'\n'+m['content']+'<|im_end|>\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}"
)
Floats = npt.NDArray[np.float32]


class Vocabulary:
    """Tokens with their kinds, scores and biases."""

    def __init__(self, kinds: Any) -> None:
        self.tokens: list[bytes] = []
        self.kinds: list[int] = []
        self.scores: list[float] = []
        self.biases: list[float] = []
        for token, bias in (
            ("<unk>", NEVER),
            ("<s>", NEVER),
            ("</s>", RARE),
            ("<|im_start|>", NEVER),
            ("<|im_end|>", 0.0),
        ):
            self.add(token, kinds.UNKNOWN if token == "<unk>" else kinds.CONTROL, bias)
        for byte in range(256):
            self.add(f"<0x{byte:02X}>", kinds.BYTE, NEVER)
        self.add("\u2581", kinds.NORMAL, -2.0)
        for code in range(33, 127):
            self.add(chr(code), kinds.NORMAL, _bias_of(chr(code)))
        for word in WORDS:
            self._add_word("\u2581" + word, kinds.NORMAL)

    def add(self, token: str, kind: int, bias: float, score: float = -1000.0) -> None:
        """One token."""
        self.tokens.append(token.encode())
        self.kinds.append(kind)
        self.scores.append(score)
        self.biases.append(bias)

    def _add_word(self, word: str, kind: int) -> None:
        for end in range(2, len(word) + 1):
            bias = LIKELY if end == len(word) else NEVER
            if word[:end].encode() in self.tokens:
                place = self.tokens.index(word[:end].encode())
                self.biases[place] = max(bias, self.biases[place])
            else:
                self.add(word[:end], kind, bias, -float(end))


def _bias_of(sign: str) -> float:
    if sign in '{"':
        return 2.5
    return 1.0 if sign in "}[]:," else -30.0 if sign == "\\" else -2.0


def write(path: str, seed: int = 0) -> None:
    """Write the model. The same seed gives the same file."""
    import gguf

    words = Vocabulary(gguf.TokenType)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(3 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(words.tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words.tokens)
    writer.add_token_scores(words.scores)
    writer.add_token_types(words.kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(4)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    for name, values in _weights(np.array(words.biases, np.float32), seed).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _weights(biases: Floats, seed: int) -> dict[str, Floats]:
    random = np.random.default_rng(seed)

    def normal(*shape: int, size: float) -> Floats:
        return (random.standard_normal(shape) * size).astype(np.float32)

    embedding = normal(biases.size, WIDTH, size=0.5)
    embedding[:, 0] = HELD * np.sqrt(WIDTH)
    output = normal(biases.size, WIDTH, size=0.15)
    after_norm = np.sqrt(WIDTH) * HELD * np.sqrt(WIDTH) / np.sqrt((HELD * np.sqrt(WIDTH)) ** 2 + 0.25 * WIDTH)
    output[:, 0] = biases / after_norm
    kept = np.full(WIDTH, HELD, np.float32)  # undoes what the norm takes from the random part
    kept[0] = 1
    hidden = kept.copy()
    hidden[0] = 0
    found = {"token_embd.weight": embedding, "output_norm.weight": kept, "output.weight": output}
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        found[block + "attn_norm.weight"] = hidden
        found[block + "ffn_norm.weight"] = hidden.copy()
        for part in "qkv":
            found[f"{block}attn_{part}.weight"] = normal(WIDTH, WIDTH, size=0.1)
        for part, shape in (("attn_output", (WIDTH, WIDTH)), ("ffn_down", (WIDTH, 3 * WIDTH))):
            found[f"{block}{part}.weight"] = normal(*shape, size=0.05)
            found[f"{block}{part}.weight"][0] = 0  # nothing is added to what is held
        for part in ("ffn_gate", "ffn_up"):
            found[f"{block}{part}.weight"] = normal(3 * WIDTH, WIDTH, size=0.1)
    return found
