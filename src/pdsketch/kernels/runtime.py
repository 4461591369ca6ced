"""The part of numba's runtime that arrays made in kernels need, for machine code that runs without numba.

numba counts references to memory in a header before it (``MemInfo``: references, destructor and what it
is given, address, size, allocator). Linked kernels have these functions of their own, over the C library's
``malloc`` and ``free``; what a kernel returns is given back by ``kernel_release``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_HEADER = 48
_ADDRESS = 24
"""Where in the header the address of the memory stands."""


def add_runtime(module: Any) -> None:
    """Define what allocates and frees."""
    malloc = ir.Function(module, ir.FunctionType(_BYTES, (_WORD,)), "malloc")
    free = ir.Function(module, ir.FunctionType(ir.VoidType(), (_BYTES,)), "free")
    allocate = ir.Function(
        module, ir.FunctionType(_BYTES, (_WORD, ir.IntType(32))), "NRT_MemInfo_alloc_aligned"
    )
    builder = ir.IRBuilder(allocate.append_basic_block())
    size, align = allocate.args
    room = builder.zext(align, _WORD)
    header = builder.call(malloc, [builder.add(builder.add(size, room), _WORD(_HEADER))])
    with builder.if_then(builder.icmp_unsigned("==", header, _BYTES(None))):
        builder.ret(_BYTES(None))
    first = builder.add(builder.ptrtoint(header, _WORD), builder.add(room, _WORD(_HEADER)))
    address = builder.sub(first, builder.urem(first, room))
    for at, value in ((0, _WORD(1)), (8, _WORD(0)), (16, _WORD(0)), (_ADDRESS, address), (32, size)):
        place = builder.gep(header, [_WORD(at)])
        builder.store(value, builder.bitcast(place, _WORD.as_pointer()))
    builder.ret(header)
    of_size = ir.Function(module, ir.FunctionType(_BYTES, (_WORD,)), "NRT_Allocate")
    builder = ir.IRBuilder(of_size.append_basic_block())
    builder.ret(builder.call(malloc, [of_size.args[0]]))
    for name in ("NRT_Free", "NRT_MemInfo_call_dtor"):
        given_back = ir.Function(module, ir.FunctionType(ir.VoidType(), (_BYTES,)), name)
        builder = ir.IRBuilder(given_back.append_basic_block())
        builder.call(free, [given_back.args[0]])
        builder.ret_void()
    _add_release(module, free)


def _add_release(module: Any, free: Any) -> None:
    """Python's hand: one reference less, and the memory is freed with the last."""
    release = ir.Function(module, ir.FunctionType(ir.VoidType(), (_BYTES,)), "kernel_release")
    builder = ir.IRBuilder(release.append_basic_block())
    count = builder.bitcast(release.args[0], _WORD.as_pointer())
    left = builder.sub(builder.load(count), _WORD(1))
    builder.store(left, count)
    with builder.if_then(builder.icmp_unsigned("==", left, _WORD(0))):
        builder.call(free, [release.args[0]])
    builder.ret_void()
