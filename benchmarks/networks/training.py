"""One training: the paper's network (its tables 3 and 5) with a configuration of fourteen mixed parameters.

As in the paper there is no normalization of activations, so that many configurations diverge. What differs from its
table 6: widths, schedule and the decay of the last layer are parameters too, and colours are perturbed in RGB. An epoch
is 156 steps of 256 images, a training a few epochs instead of 200.

References
----------
Snoek et al., Scalable Bayesian optimization using deep neural networks, 2015: section 4.3, supplementary A.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.networks.images import load
from sonde import Bool, Categorical, Float, Int, Space

SPACE = Space(
    learning_rate=Float(1e-4, 1, log=True),
    friction=Float(0.01, 0.5, log=True),  # 1 - momentum, as in table 6
    decay=Float(1e-6, 1e-2, log=True),
    last_decay=Float(1e-6, 1e-1, log=True),
    deviation=Float(0.5, 2),  # of the first weights, times those that keep variances
    dropout1=Float(0, 0.7),
    dropout2=Float(0, 0.7),
    pixel_dropout=Float(0, 0.3),
    width1=Int(16, 48, log=True),
    width2=Int(32, 96, log=True),
    colour=Float(0, 0.5),  # largest change of brightness and of contrast
    shift=Int(0, 4),  # pixels
    flip=Bool(),
    schedule=Categorical(["constant", "linear", "cosine"]),
)
BATCH = 256
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Diverged(Exception):
    """The loss is not finite, or the network knows no more than chance."""


class Network(nn.Sequential):
    """Table 5 with widths of its own."""

    def __init__(self, at: Mapping[str, Any]) -> None:
        narrow, wide = at["width1"], at["width2"]
        convolutions = [(3, narrow, 3), (narrow, narrow, 3), None, (narrow, wide, 3), (wide, wide, 3), (wide, wide, 3)]
        convolutions += [None, (wide, wide, 3), (wide, wide, 1)]
        rates = iter((at["dropout1"], at["dropout2"]))
        layers: list[nn.Module] = []
        for convolution in convolutions:
            if convolution is None:
                layers += [nn.MaxPool2d(3, 2, padding=1), nn.Dropout(next(rates))]
            else:
                layers += [nn.Conv2d(*convolution, padding="same"), nn.ReLU()]
        super().__init__(*layers, nn.Conv2d(wide, 10, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        for layer in self:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                with torch.no_grad():
                    layer.weight.mul_(at["deviation"])
                    layer.bias.zero_()  # type: ignore[union-attr]

    def groups(self, at: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the weights with their decays."""
        last = [*self[-3].parameters()]
        others = [weight for weight in self.parameters() if all(weight is not own for own in last)]
        return [{"params": others, "weight_decay": at["decay"]}, {"params": last, "weight_decay": at["last_decay"]}]


def train(at: Mapping[str, Any], seed: int, epochs: int, testing: bool = False) -> float:
    """Return the validation (or test) error in percent after some epochs."""
    torch.manual_seed(seed)
    training, held_out = on_device(testing)
    network = Network(at).to(DEVICE, memory_format=torch.channels_last)
    per_epoch = len(training[0]) // BATCH
    step = Step(network, at, *training, epochs * per_epoch)
    with stream():
        for _ in range(epochs):
            for _ in range(per_epoch):
                step()
            if not math.isfinite(step.last_loss()):
                raise Diverged("the loss is not finite")
    error = 100 * wrong(network, *held_out)
    if error > 88:  # of ten classes
        raise Diverged("no better than chance")
    return error


def stream() -> AbstractContextManager[Any]:
    """Return a stream of work on the device; what is recorded must not be in the usual one."""
    if DEVICE == "cpu":
        return nullcontext()
    torch.cuda.synchronize()  # what was prepared is there
    return torch.cuda.stream(torch.cuda.Stream())


class Step:
    """A step of stochastic gradient descent. On a GPU it is recorded once and replayed, which takes no Python."""

    def __init__(self, network: Network, at: Mapping[str, Any], pixels: Tensor, classes: Tensor, steps: int) -> None:
        self.network, self.at, self.pixels, self.classes = network, at, pixels, classes
        epochs = -(-steps * BATCH // len(pixels))
        whole = len(pixels) // BATCH * BATCH
        orders = [torch.randperm(len(pixels), device=DEVICE)[:whole] for _ in range(epochs)]
        self.order = torch.cat(orders).view(-1, BATCH)
        self.rates = torch.tensor([at["learning_rate"] * rate(at["schedule"], k, steps) for k in range(steps)])
        self.rates = self.rates.to(DEVICE)
        self.number = torch.zeros(1, dtype=torch.int64, device=DEVICE)  # on the device, so that replays count too
        self.rate, self.loss = torch.zeros((), device=DEVICE), torch.zeros((), device=DEVICE)
        self.optimizer = torch.optim.SGD(
            network.groups(at), lr=self.rate, momentum=1 - at["friction"], nesterov=True, fused=True
        )
        self.graph: torch.cuda.CUDAGraph | None = None
        self.made = 0

    def __call__(self) -> None:
        """Make the next step."""
        if DEVICE == "cuda" and self.made == 3:  # after the first steps, which make buffers
            self.optimizer.zero_grad()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=torch.cuda.current_stream()):
                self._make()
        self.made += 1
        if self.graph is not None:
            self.graph.replay()
        else:
            self.optimizer.zero_grad()
            self._make()

    def _make(self) -> None:
        rows = self.order.index_select(0, self.number)[0]
        self.rate.copy_(self.rates.index_select(0, self.number)[0])
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda", cache_enabled=False):
            scores = self.network(corrupted(self.pixels[rows], self.at))
            loss = functional.cross_entropy(scores, self.classes[rows])
        loss.backward()
        self.optimizer.step()
        self.loss.copy_(loss.detach())
        self.number.add_(1)

    def last_loss(self) -> float:
        """Wait for the steps so far, without keeping a core busy; return the last one's loss."""
        if DEVICE == "cuda":
            end = torch.cuda.Event(blocking=True)
            end.record()
            end.synchronize()
        return self.loss.item()


def rate(schedule: str, step: int, steps: int) -> float:
    """Return the learning rate of a step relative to the highest; the first fiftieth warms up."""
    left = 1 - step / steps
    shape = {"constant": 1.0, "linear": left, "cosine": 0.5 - 0.5 * math.cos(math.pi * left)}[schedule]
    return shape * min(1.0, (step + 1) * 50 / steps)


@cache
def on_device(testing: bool) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return both sets of images on the device, read once in each process."""
    first, second = (tuple(torch.from_numpy(part).to(DEVICE) for part in images) for images in load(testing))
    return first, second  # type: ignore[return-value]


def scaled(pixels: Tensor) -> Tensor:
    """Return images with mean zero and deviation one, about."""
    return (pixels.float() - 121) / 64


def corrupted(pixels: Tensor, at: Mapping[str, Any]) -> Tensor:
    """Return images flipped, shifted, in other colours and with missing pixels, each at random."""
    count, where = len(pixels), {"device": pixels.device}
    x = scaled(pixels)
    if at["flip"]:
        x = torch.where(torch.rand(count, 1, 1, 1, **where) < 0.5, x.flip(3), x)
    if most := at["shift"]:
        padded = functional.pad(x, (most,) * 4)
        rows, columns = (torch.randint(0, 2 * most + 1, (count, 1), **where) + torch.arange(32, **where) for _ in "xy")
        each = torch.arange(count, **where)[:, None, None]
        x = padded[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    contrast, brightness = at["colour"] * (2 * torch.rand(2, count, 1, 1, 1, **where) - 1)
    x = x * (1 + contrast) + brightness
    kept = 1 - at["pixel_dropout"]
    x = x * (torch.rand(count, 1, 32, 32, **where) < kept) / kept
    return x.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def wrong(network: Network, pixels: Tensor, classes: Tensor) -> float:
    """Return the share of images of another class than predicted."""
    network.eval()
    with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
        found = [network(scaled(part)).argmax(1) for part in pixels.split(2000)]
    return float((torch.cat(found) != classes).float().mean())
