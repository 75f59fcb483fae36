"""Sums of rows in registers, as instructions of their own; imported only where numba is installed.

A loop that numba compiles from Python keeps the sum of a row in memory, and checks more before it
adds. Such a loop cannot ask the memory for rows before their turn.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Columns of an accumulator: 64 bytes of float32, a line of the cache.
_LANES = 16
_ALIGN = 2
# So many rows before its turn a row is asked for; 12, 40 and 64 were slower.
_AHEAD = 24
# Bytes of a line of the cache.
_LINE = 64


def row_sum(width: int) -> Any:
    """Return an intrinsic that sums rows of `width` columns, a multiple of 16, in registers.

    out[row] becomes the sum of the rows of `block` that indices[first:last] name. With scale None
    it begins at zero, with a flag at out[row] where that is true; with factors, one a column, the
    sum of whole numbers times the factors is added to out[row]. Arrays are contiguous.
    """

    @intrinsic
    def sum_rows(
        _: Any, block: Any, indices: Any, first: Any, last: Any, out: Any, row: Any, scale: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = [
                context.make_array(kind)(context, builder, value).data
                if isinstance(kind, types.Array)
                else value
                for kind, value in zip(signature.args, arguments, strict=True)
            ]
            n_named = context.make_array(indices)(context, builder, arguments[1]).nitems
            writer = _Sum(context, builder, width, n_named)
            return writer.emit(data, out.dtype, block.dtype, scale)

        place = types.intp
        return types.void(block, indices, place, place, out, place, scale), generate

    return sum_rows


class _Sum:
    """Writes the instructions of `row_sum`: sixteen columns an accumulator."""

    def __init__(self, context: Any, builder: Any, width: int, n_named: Any) -> None:
        self.context, self.builder, self.parts = context, builder, width // _LANES
        self.place, self.n_named = ir.IntType(64), n_named

    def emit(self, data: list[Any], out: Any, item: Any, scale: Any) -> Any:
        """Write the loop over the named rows, between a load and a store of the sums."""
        block, indices, first, last, target, row, given = data
        is_whole = isinstance(item, types.Integer)
        total = ir.VectorType(
            ir.IntType(32) if is_whole else self.context.get_value_type(item), _LANES
        )
        goal = ir.VectorType(self.context.get_value_type(out), _LANES)
        here = self._vectors(target, row, goal)
        zero = ir.Constant(total, None)
        if isinstance(scale, types.Boolean):
            flag = self.builder.trunc(given, ir.IntType(1))
            sums = [self.builder.select(flag, self._load(p), zero) for p in here]
        else:
            sums = [zero] * self.parts
        sums = self._loop(block, indices, first, last, sums, item)
        if isinstance(scale, types.Array):
            factors = self._vectors(given, ir.Constant(self.place, 0), goal)
            for k, (p, f) in enumerate(zip(here, factors, strict=True)):
                scaled = self.builder.fmul(self.builder.sitofp(sums[k], goal), self._load(f))
                sums[k] = self.builder.fadd(self._load(p), scaled)
        for p, value in zip(here, sums, strict=True):
            self.builder.store(value, p).align = _ALIGN
        return self.context.get_dummy_value()

    def _loop(
        self, block: Any, indices: Any, first: Any, last: Any, sums: list[Any], item: Any
    ) -> list[Any]:
        """Write two loops, the first with two rows a turn, and return the sums after them.

        A row is asked for before its turn: the memory answers while others are added.
        """
        builder, at = self.builder, first
        for step in (2, 1):
            before = builder.basic_block
            head, body, after = (builder.append_basic_block() for _ in range(3))
            builder.branch(head)
            builder.position_at_end(head)
            now = builder.phi(self.place)
            now.add_incoming(at, before)
            held = [builder.phi(value.type) for value in sums]
            for phi, value in zip(held, sums, strict=True):
                phi.add_incoming(value, before)
            end = builder.add(now, ir.Constant(self.place, step))
            builder.cbranch(builder.icmp_signed("<=", end, last), body, after)
            builder.position_at_end(body)
            grown = list(held)
            for k in range(step):
                place = builder.add(now, ir.Constant(self.place, k))
                self._prefetch(block, self._named(indices, self._later(place)), item)
                kind = ir.VectorType(self.context.get_data_type(item), _LANES)
                row = self._vectors(block, self._named(indices, place), kind)
                for v, p in enumerate(row):
                    grown[v] = self._add(grown[v], self._load(p))
            now.add_incoming(end, builder.basic_block)
            for phi, value in zip(held, grown, strict=True):
                phi.add_incoming(value, builder.basic_block)
            builder.branch(head)
            builder.position_at_end(after)
            sums, at = held, now
        return sums

    def _named(self, indices: Any, place: Any) -> Any:
        """Return the row that is named at a place."""
        named = self.builder.load(self.builder.gep(indices, [place]))
        return self.builder.zext(named, self.place) if named.type != self.place else named

    def _later(self, place: Any) -> Any:
        """Return the place whose row is added `_AHEAD` rows later; it may belong to a later sum.

        Near the end of the indices it is the place itself.
        """
        builder = self.builder
        later = builder.add(place, ir.Constant(self.place, _AHEAD))
        return builder.select(builder.icmp_signed("<", later, self.n_named), later, place)

    def _prefetch(self, block: Any, row: Any, item: Any) -> None:
        """Ask the memory for a row, line by line."""
        builder, byte, number = self.builder, ir.IntType(8), ir.IntType(32)
        size = self.parts * _LANES * item.bitwidth // 8
        first = builder.gep(
            builder.bitcast(block, byte.as_pointer()),
            [builder.mul(row, ir.Constant(self.place, size))],
        )
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte.as_pointer()], kind)
        # To read, to keep in all caches, data.
        how = [ir.Constant(number, value) for value in (0, 3, 1)]
        for line in range(0, size, _LINE):
            builder.call(ask, [builder.gep(first, [ir.Constant(self.place, line)]), *how])

    def _add(self, total: Any, value: Any) -> Any:
        if isinstance(value.type.element, ir.IntType):
            return self.builder.add(total, self.builder.sext(value, total.type))
        return self.builder.fadd(total, value)

    def _vectors(self, data: Any, row: Any, kind: Any) -> list[Any]:
        """Return pointers to the parts of a row."""
        builder = self.builder
        start = builder.mul(row, ir.Constant(self.place, self.parts * _LANES))
        steps = (ir.Constant(self.place, v * _LANES) for v in range(self.parts))
        starts = (builder.gep(data, [builder.add(start, step)]) for step in steps)
        return [builder.bitcast(each, kind.as_pointer()) for each in starts]

    def _load(self, pointer: Any) -> Any:
        value = self.builder.load(pointer)
        # Rows begin at any element, not at multiples of a vector.
        value.align = _ALIGN
        return value
