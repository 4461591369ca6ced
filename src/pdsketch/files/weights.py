"""Tensors as blocks of a file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from pdsketch.files.tensors import Block
from pdsketch.lang import error

DTYPES: Final[Mapping[str, torch.dtype]] = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "U16": torch.uint16,
    "I16": torch.int16,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "F32": torch.float32,
    "U64": torch.uint64,
    "I64": torch.int64,
    "F64": torch.float64,
    "C64": torch.complex64,
}
TAGS: Final[Mapping[torch.dtype, str]] = {dtype: tag for tag, dtype in DTYPES.items()}


def blocks_of(tensors: Mapping[str, Tensor]) -> dict[str, Block]:
    """Tensors as they stand in a file."""
    return {name: _block(name, tensor) for name, tensor in tensors.items()}


def _block(name: str, tensor: Tensor) -> Block:
    if tensor.dtype not in TAGS:
        raise error("cannot-write", f"`{name}` holds {tensor.dtype}, which safetensors files do not have")
    plain = tensor.detach().cpu().contiguous()
    return Block(TAGS[tensor.dtype], tuple(tensor.shape), plain.reshape(-1).view(torch.uint8).numpy())


def tensor_of(block: Block) -> Tensor:
    """The tensor of a block, in the block's own memory."""
    if not block.data.size:
        return torch.empty(block.shape, dtype=DTYPES[block.dtype])
    return torch.from_numpy(block.data).view(DTYPES[block.dtype]).reshape(block.shape)
