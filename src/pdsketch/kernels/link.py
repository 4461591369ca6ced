"""Machine code of numba's as a shared object that is called without numba.

Importing numba and LLVM takes longer than planning for a small problem. What a
kernel was compiled to is therefore compiled once more, as position-independent
code with an entry of its own, and linked by the system's linker. The entry reads
its arguments from machine words (`pdsketch.kernels.flat`), so that it needs
neither numba nor Python's C interface.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.np.arrayobj import populate_array

RETURNED = {types.none: "none", types.int64: "int", types.boolean: "bool", types.float64: "float"}
"""What a linked kernel may return, as its entry is named."""

_DESTRUCTOR = "NRT_MemInfo_call_dtor"
"""Of arrays that numba owns. Those of arguments are Python's: it is never called, but must be there."""

_LINKERS = (("ld", "-shared"), ("cc", "-shared", "-nostdlib"))
_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_SECONDS = 60


class UnlinkedError(Exception):
    """A kernel stays with numba: of its types, or for want of a linker."""


def shared_object(compiled: Any) -> bytes:
    """What numba compiled a kernel to for one signature (a ``CompileResult``), as a shared object."""
    if compiled.signature.return_type not in RETURNED:
        raise UnlinkedError(f"it returns {compiled.signature.return_type}")
    with global_compiler_lock:
        content = _object(compiled)
    return _linked(content)


def _object(compiled: Any) -> bytes:
    context, described = compiled.target_context, compiled.fndesc
    codegen = _Codegen(context.codegen())
    library = codegen.create_library("pdsketch")  # type: ignore[no-untyped-call]
    module = library.create_ir_module("entry")
    name = RETURNED[described.restype]
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), (_BYTES, _BYTES)), f"kernel_{name}")
    builder = ir.IRBuilder(entry.append_basic_block())
    slots = _Slots(context, builder, entry.args[0])
    arguments = [slots.value(of) for of in described.argtypes]
    called = context.declare_function(module, described)
    convention = context.call_conv
    status, result = convention.call_function(
        builder, called, described.restype, described.argtypes, arguments
    )
    with builder.if_then(status.is_ok):
        if name == "float":
            builder.store(result, builder.bitcast(entry.args[1], result.type.as_pointer()))
        elif name != "none":
            wide = builder.zext(result, _WORD) if name == "bool" else result
            builder.store(wide, builder.bitcast(entry.args[1], _WORD.as_pointer()))
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    destructor = ir.Function(module, ir.FunctionType(ir.VoidType(), (_BYTES,)), _DESTRUCTOR)
    ir.IRBuilder(destructor.append_basic_block()).ret_void()
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    library.finalize()
    outside = {f.name for f in library._final_module.functions if f.is_declaration}
    if any(name.startswith("NRT_") for name in outside):
        raise UnlinkedError("it allocates memory, for arrays or for what an exception says")
    content: bytes = library.emit_native_object()
    return content


class _Codegen(AOTCPUCodegen):
    """Position-independent code with all that this processor can do."""

    def __init__(self, jit: Any) -> None:
        self._features = jit._tm_features
        super().__init__("pdsketch", "host")  # type: ignore[no-untyped-call]

    def _customize_tm_features(self) -> Any:
        return self._features


class _Slots:
    """The values of arguments, read from words one after the other."""

    def __init__(self, context: Any, builder: Any, first: Any) -> None:
        self._context = context
        self._builder = builder
        self._words = builder.bitcast(first, _WORD.as_pointer())
        self._read = 0

    def value(self, of: Any) -> Any:
        """The next value of a type, as numba passes it on."""
        context, builder = self._context, self._builder
        if isinstance(of, types.BaseTuple):
            parts: Any = of
            return context.make_tuple(builder, of, [self.value(part) for part in parts])
        if isinstance(of, types.Array) and of.layout == "C" and of.mutable and of.aligned:
            return self._array(of)
        if of == types.boolean:
            return builder.icmp_unsigned("!=", self._word(), _WORD(0))
        if of in (types.int64, types.uint64):
            return self._word()
        if of == types.float64:
            return builder.bitcast(self._word(), ir.DoubleType())
        raise UnlinkedError(f"an argument of type {of}")

    def _array(self, of: Any) -> Any:
        context, builder = self._context, self._builder
        data = builder.inttoptr(self._word(), context.get_data_type(of.dtype).as_pointer())
        shape = [self._word() for _ in range(of.ndim)]
        size = context.get_abi_sizeof(context.get_data_type(of.dtype))
        strides: list[Any] = [_WORD(size)]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        array = context.make_array(of)(context, builder)
        layout = {"shape": shape, "strides": strides, "itemsize": _WORD(size)}
        populate_array(array, data=data, meminfo=None, **layout)  # type: ignore[no-untyped-call]
        return array._getvalue()

    def _word(self) -> Any:
        at = self._builder.gep(self._words, [_WORD(self._read)])
        self._read += 1
        return self._builder.load(at)


def _linked(content: bytes) -> bytes:
    for linker, *options in _LINKERS:
        path = shutil.which(linker)
        if path is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder, "kernel.o"), Path(folder, "kernel.so")
            source.write_bytes(content)
            words = [path, *options, "-o", os.fspath(target), os.fspath(source)]
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
            if done.returncode == 0:
                return target.read_bytes()
    raise UnlinkedError("there is no linker, or it failed")
