"""Which activation each unit of a network has, learned while its weights are, in PyTorch.

    python examples/structure_torch.py

Tanh or ReLU for each of 128 hidden units, on scikit-learn's digits. Every step draws two masks, moves the weights by
the mean gradient of both losses, and tells the losses: masks that help become likelier. An argument is the number of
steps.
"""

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from sonde.igo import Structure

LAYERS, WIDTH, BATCH = 2, 64, 64


class Network(nn.Module):
    """Hidden layers whose units are ReLU where the mask says so, else tanh."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(64 if layer == 0 else WIDTH, WIDTH) for layer in range(LAYERS))
        self.last = nn.Linear(WIDTH, 10)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the scores of images (batch, 64) with a mask (LAYERS, WIDTH)."""
        for layer, kinds in zip(self.hidden, mask, strict=True):
            x = layer(x)
            x = torch.where(kinds, torch.relu(x), torch.tanh(x))
        return self.last(x)


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    parts = train_test_split((images / 16).astype(np.float32), labels, test_size=0.25, random_state=0)
    x, x_test, y, y_test = map(torch.from_numpy, parts)
    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    structure = Structure({"relu": (LAYERS, WIDTH)}, seed=0)
    for number in range(1, steps + 1):
        rows = torch.randint(len(x), (BATCH,))
        masks = torch.from_numpy(structure.draw()["relu"])
        losses = torch.stack([nn.functional.cross_entropy(network(x[rows], mask), y[rows]) for mask in masks])
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        structure.tell(losses.detach())
        if number % max(1, steps // 4) == 0:
            print(f"step {number}: loss {losses.mean():.4f}, step size {structure.search.step_size:.4f}")
    mask = structure.likeliest()["relu"]
    with torch.no_grad():
        wrong = network(x_test, torch.from_numpy(mask)).argmax(dim=1) != y_test
    kept = ", ".join(f"{own.sum()} of {WIDTH}" for own in mask)
    print(f"ReLU units by layer: {kept}, the others tanh; test error {100 * wrong.float().mean():.1f} %")


if __name__ == "__main__":
    main()
