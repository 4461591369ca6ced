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
from numba.core import cgutils, types
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype

from pdsketch.kernels.runtime import add_runtime

_LINKERS = (("ld", "-shared"), ("cc", "-shared", "-nostdlib"))
_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_SECONDS = 60


class UnlinkedError(Exception):
    """A kernel stays with numba: of its types, or for want of a linker."""


def shared_object(compiled: Any) -> bytes:
    """What numba compiled a kernel to for one signature (a ``CompileResult``), as a shared object."""
    with global_compiler_lock:
        content = _object(compiled)
    return _linked(content)


def _object(compiled: Any) -> bytes:
    context, described = compiled.target_context, compiled.fndesc
    library = _Codegen(context.codegen()).create_library("pdsketch")  # type: ignore[no-untyped-call]
    module = library.create_ir_module("entry")
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), (_BYTES, _BYTES)), "kernel")
    builder = ir.IRBuilder(entry.append_basic_block())
    slots = _Slots(context, builder, entry.args[0])
    arguments = [slots.value(of) for of in described.argtypes]
    called = context.declare_function(module, described)
    status, result = context.call_conv.call_function(
        builder, called, described.restype, described.argtypes, arguments
    )
    with builder.if_then(status.is_ok):
        kinds = _Results(context, builder, entry.args[1]).write(described.restype, result)
    builder.ret(builder.zext(status.is_error, ir.IntType(32)))
    text = bytearray(kinds.encode() + b"\0")
    name = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), len(text)), "kernel_returns")
    name.initializer = ir.Constant(name.value_type, text)
    add_runtime(module)
    library.add_ir_module(module)
    library.add_linking_library(compiled.library)
    library.finalize()
    outside = {function.name for function in library._final_module.functions if function.is_declaration}
    if any(name.startswith(("NRT_", "numba_", "Numba")) for name in outside):
        raise UnlinkedError("it needs more of numba's runtime than memory")
    content: bytes = library.emit_native_object()
    return content


class _Results:
    """What a kernel returns, written as words one after the other; an array with the memory that holds it."""

    def __init__(self, context: Any, builder: Any, first: Any) -> None:
        self._context = context
        self._builder = builder
        self._words = builder.bitcast(first, _WORD.as_pointer())
        self._written = 0

    def write(self, of: Any, value: Any) -> str:
        """Write a value; its kind, as `linked` reads it back."""
        builder = self._builder
        if isinstance(of, types.BaseTuple):
            parts: Any = of
            each = zip(parts, cgutils.unpack_tuple(builder, value), strict=True)  # type: ignore[no-untyped-call]
            return "(" + ",".join(self.write(*part) for part in each) + ")"
        if of == types.none:
            return "n"
        if of == types.boolean:
            self._word(builder.zext(value, _WORD))
            return "b"
        if of == types.float64:
            self._word(builder.bitcast(value, _WORD))
            return "f"
        if of in (types.int64, types.uint64):
            self._word(value)
            return "i" if of == types.int64 else "u"
        if isinstance(of, types.Array) and of.layout == "C":
            array = self._context.make_array(of)(self._context, builder, value=value)
            self._word(builder.ptrtoint(array.meminfo, _WORD))
            self._word(builder.ptrtoint(array.data, _WORD))
            for extent in cgutils.unpack_tuple(builder, array.shape):  # type: ignore[no-untyped-call]
                self._word(extent)
            return f"{as_dtype(of.dtype).char}{of.ndim}"
        raise UnlinkedError(f"it returns {of}")

    def _word(self, value: Any) -> None:
        self._builder.store(value, self._builder.gep(self._words, [_WORD(self._written)]))
        self._written += 1


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
