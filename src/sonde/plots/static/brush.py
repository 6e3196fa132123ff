"""What the drawing of a trace needs besides the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from sonde.arrays import Array
from sonde.plots.static.frames import Frames
from sonde.plots.static.layout import joined
from sonde.plots.static.values import scale


@dataclass
class Brush:
    """The axes, the colour of the trace's turn, and how far above the others it lies."""

    frames: Frames
    shade: str
    height: float
    bars: list[tuple[ScalarMappable, Mapping[str, Any]]]  # colour bars, drawn at the end
    corners: dict[Axes, tuple[Array, Array]] = field(default_factory=dict)  # of the last line, for areas between two

    def mappable(self, owner: Mapping[str, Any], values: Any, names: tuple[str, str, str]) -> ScalarMappable:
        """Return the colours of values, as a trace or its markers say it, or a colour axis that they name.

        ``names`` are those of the entries for the least, the largest and the middle value.
        """
        layout = self.frames.layout
        spec = dict(owner)
        shared = owner.get("coloraxis")
        if shared:
            told = layout.get(shared, {})
            spec |= {names[0]: told.get("cmin"), names[1]: told.get("cmax"), names[2]: told.get("cmid"), **told}
        known = np.asarray(values, dtype=float)[np.isfinite(np.asarray(values, dtype=float))]
        low, high = (spec.get(name) for name in names[:2])
        low = (known.min() if len(known) else 0.0) if low is None else low
        high = (known.max() if len(known) else 1.0) if high is None else high
        if spec.get(names[2]) is not None:
            reach = max(abs(high - spec[names[2]]), abs(low - spec[names[2]]))
            low, high = spec[names[2]] - reach, spec[names[2]] + reach
        shades = spec.get("colorscale") or layout.get("colorscale", {}).get("sequential")
        made = ScalarMappable(Normalize(float(low), float(high)), scale(shades, reverse=bool(spec.get("reversescale"))))
        made.set_array(known)
        self._add_bar(made, spec, shared)
        return made

    def _add_bar(self, made: ScalarMappable, spec: Mapping[str, Any], shared: Any) -> None:
        is_first = not any(bar.get("shared") == shared for _, bar in self.bars) if shared else True
        if spec.get("showscale", bool(shared) or spec.get("type") in ("heatmap", "contour")) and is_first:
            self.bars.append((made, joined(spec.get("colorbar") or {}, {"shared": shared})))
