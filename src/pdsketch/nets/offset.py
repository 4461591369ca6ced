"""A relation of two vectors that holds near an offset, and proposes vectors that stand in it.

It is the geometric classifier of PDSketch (Mao et al., 2022, appendix D): *a* is left of *b* where a − b is
close to a vector θ that is learned, so that places left of *b* can be sampled: b + θ, and what is around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast, final

import torch
from torch import Tensor, nn

from pdsketch.lang import error
from pdsketch.nets.normalise import Normalise

QUICKNESS: Final = 4.0
"""How much faster these few numbers move than the weights of networks: at a learning rate of 3e-3, a radius
by 1 % a step. At 16 an offset moved by half a block's width from step to step, and was lost."""

FIRST_SHARPNESS: Final = 2.0
"""Where it is put at a place (`Offset.place`), it is true there with 0.88, half true at the radius, and open
to change up to three times as far. Set by hand."""


@final
class Offset(nn.Module):
    """The truth that vectors *a* and *b* of ``size`` numbers are about an offset apart, or one of ``modes``.

    p(a, b) = σ((γ − ‖a − b − θ‖²) / τ), with θ, γ > 0 and τ > 0 learned; of several θ the nearest counts.
    With eight modes or so, a ring is learned. Lengths are measured in the root
    mean square of the differences in the data, which `pdsketch.fit` records: any unit will do.
    Planning lets it propose values for the first argument, or for those of ``arguments``: what carries a
    block cannot be put under it, and what stands beside one can be put there either way.
    """

    def __init__(self, size: int, *, arguments: Sequence[int] = (0,), modes: int = 1) -> None:
        super().__init__()
        if type(size) is not int or size < 1:
            raise error(
                "bad-option",
                f"an Offset takes the size of its vectors, a whole number above 0; {size!r:.40} is given",
                help="write pds.nets.Offset(3) for vectors of three numbers",
            )
        if not arguments or not {0, 1}.issuperset(arguments):
            raise error(
                "bad-option",
                f"`arguments` of an Offset are 0, 1 or both; {arguments!r:.40} is given",
                help="arguments=(0, 1) also proposes values for its second argument, given the first",
            )
        if type(modes) is not int or modes < 1:
            raise error(
                "bad-option", f"`modes` of an Offset is a whole number above 0; {modes!r:.40} is given"
            )
        self.size, self.modes = size, modes
        self.arguments = tuple(arguments)
        self.lengths = Normalise(1)
        generator = torch.Generator().manual_seed(0)
        apart = torch.randn(modes, size, generator=generator) / QUICKNESS
        self.shift = nn.Parameter(torch.zeros(size) if modes == 1 else apart)
        self.log_radius = nn.Parameter(torch.zeros(()))
        self.log_softness = nn.Parameter(torch.zeros(()))

    @property
    def unit(self) -> Tensor:
        """The root mean square of the lengths of differences; 1 before there is data."""
        mean, spread, seen = (cast(Tensor, getattr(self.lengths, n)) for n in ("mean", "spread", "seen"))
        return torch.where(seen > 0, (mean.square() + spread.square()).sqrt(), spread).squeeze(-1)

    @property
    def theta(self) -> Tensor:
        """The offset, in the units of the data; of several modes ``[modes, size]``."""
        return self.shift * (QUICKNESS * self.unit)

    @property
    def gamma(self) -> Tensor:
        """The square of the distance from the offset within which the relation holds.

        At first that is one root mean square of the differences: about half of all pairs stand in it, so that
        examples from everywhere count.
        """
        return (self.unit * (QUICKNESS * self.log_radius).exp()).square()

    @property
    def tau(self) -> Tensor:
        """How softly it ends there, in squares of the data's units."""
        return self.unit.square() * (2 * QUICKNESS * self.log_softness).exp()

    @torch.no_grad()
    def place(self, theta: Tensor, radius: float, sharpness: float = FIRST_SHARPNESS) -> None:
        """Let it hold within ``radius`` of the offset, in the data's units; γ is ``sharpness`` times τ."""
        unit = self.unit
        self.shift.copy_(theta.to(self.shift) / (QUICKNESS * unit))
        self.log_radius.copy_((radius / unit).log() / QUICKNESS)
        self.log_softness.copy_((radius**2 / (sharpness * unit.square())).log() / (2 * QUICKNESS))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """The truth of the relation, over the leading axes."""
        difference = a - b
        if self.lengths.recording:
            self.lengths(difference.norm(dim=-1, keepdim=True))
        nearest = self.theta.expand_as(difference) if self.modes == 1 else self._nearest(difference)
        apart: Tensor = _From.apply(difference, nearest)  # type: ignore[no-untyped-call]
        return torch.sigmoid((self.gamma - apart.square().sum(-1)) / self.tau)

    def _nearest(self, difference: Tensor) -> Tensor:
        """The offset that is the nearest to each difference."""
        theta = self.theta
        with torch.no_grad():
            away: Tensor = (difference.unsqueeze(-2) - theta).square().sum(-1)
        return theta[away.argmin(-1)]

    @torch.no_grad()
    def shrink(self, weight: float) -> None:
        """Add to the gradients that of ``weight`` times the logarithm of the volume in which it holds.

        A closed world: what no example calls true is not. Nothing is added where nothing was learned.
        """
        if self.log_radius.grad is not None:
            self.log_radius.grad += weight * self.size * QUICKNESS

    def sample(
        self, other: Tensor, n: int = 1, *, argument: int = 0, generator: torch.Generator | None = None
    ) -> Tensor:
        """``n`` values for one argument, given the ``other``, ``[..., size]``: ``[..., n, size]``.

        ``argument`` is the place of what is proposed, 0 or 1; ``generator`` draws. The first are the surest,
        at the offset of each mode; the others are drawn evenly from where the relation holds.
        """
        with torch.no_grad():
            sign = 1.0 if argument == 0 else -1.0
            modes = other.unsqueeze(-2) + sign * self.theta.to(other).reshape(self.modes, self.size)
            shape = (*other.shape[:-1], max(0, n - self.modes))
            mode = torch.randint(self.modes, shape, generator=generator).to(other.device)
            centre = modes.gather(-2, mode.unsqueeze(-1).expand(*shape, self.size))
            direction = torch.randn(*shape, self.size, generator=generator).to(centre)
            direction = direction / direction.norm(dim=-1, keepdim=True).clamp_min(1e-12)
            share = torch.rand(*shape, 1, generator=generator).to(centre) ** (1 / self.size)
            drawn = centre + direction * share * self.gamma.sqrt().to(centre)
            return torch.cat([modes[..., :n, :], drawn], -2)

    def extra_repr(self) -> str:
        """What it has learned so far."""
        each = [", ".join(f"{x:.3g}" for x in row) for row in self.theta.reshape(self.modes, -1).tolist()]
        return f"{self.size}, theta=[{'; '.join(each)}], radius={self.gamma.sqrt().item():.3g}"


@final
class _From(torch.autograd.Function):
    """How far differences are from an offset; the offset moves towards examples, and away from none.

    Examples that are to be false are left to the radius. Else an offset flees from them, and true examples
    end at the rim of a large ball, whose centre is no place to propose.
    """

    @staticmethod
    def forward(ctx: Any, difference: Tensor, theta: Tensor) -> Tensor:
        apart = difference - theta
        ctx.save_for_backward(apart)
        return apart

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (apart,), (gradient,) = ctx.saved_tensors, gradients
        wanted = (gradient * apart).sum(-1, keepdim=True) > 0
        return gradient, torch.where(wanted, -gradient, 0.0)
