"""A convolutional network tuned by many workers: twelve mixed parameters, of which many configurations diverge.

    python examples/networks.py                        # 60 trainings, one worker process per core, some minutes
    python examples/networks.py 100 path/to/mnist.npz  # another number of them; MNIST's images as Keras stores them

Without a file of MNIST's images it takes the small digits that ship with scikit-learn. A training whose loss is not
finite has failed; Sonde learns where that happens and goes elsewhere. The study lives in out/networks.db: run it again
and it goes on. It needs PyTorch and scikit-learn. benchmarks/networks does the same with CIFAR-10 on a GPU.
"""

import math
import os
import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

import sonde

TRIALS = 60
EPOCHS = 4
MNIST = Path(os.environ.get("SONDE_DATA", "../shared/data")) / "mnist" / "mnist.npz"

SPACE = sonde.Space(
    learning_rate=sonde.Float(1e-4, 10, log=True),
    friction=sonde.Float(0.01, 0.5, log=True),  # 1 - momentum
    decay=sonde.Float(1e-7, 1e-2, log=True),
    last_decay=sonde.Float(1e-7, 1e-1, log=True),
    deviation=sonde.Float(0.3, 3, log=True),  # of the first weights, times the usual one
    dropout=sonde.Float(0, 0.7),
    pixel_dropout=sonde.Float(0, 0.3),
    width1=sonde.Int(4, 16, log=True),
    width2=sonde.Int(8, 32, log=True),
    batch=sonde.Categorical([32, 64, 128]),
    activation=sonde.Categorical(["relu", "tanh"]),
    anneal=sonde.Bool(),
)


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """Return images, as bytes, and their classes."""
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else MNIST
    if file.exists():
        with np.load(file) as arrays:
            pixels, classes = arrays["x_train"][:12_000], arrays["y_train"][:12_000]
    else:
        digits = load_digits()
        pixels, classes = 15 * digits.images.astype(np.uint8), digits.target
    return torch.tensor(pixels)[:, None], torch.tensor(classes, dtype=torch.int64)


x, y = images()  # sent to each worker once, with what uses them
valid = len(x) // 6


def network(at: sonde.Trial) -> nn.Sequential:
    """Return an untrained network."""
    activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[at["activation"]]
    layers = nn.Sequential(
        nn.Dropout(at["pixel_dropout"]),
        nn.Conv2d(1, at["width1"], 3, padding=1), activation(), nn.MaxPool2d(2),
        nn.Conv2d(at["width1"], at["width2"], 3, padding=1), activation(), nn.AdaptiveMaxPool2d(4),
        nn.Flatten(), nn.Dropout(at["dropout"]), nn.Linear(16 * at["width2"], 10),
    )  # fmt: skip
    with torch.no_grad():
        for weights in layers.parameters():
            weights.mul_(at["deviation"])
    return layers


def train(trial: sonde.Trial) -> float:
    """Return the error on the validation set in percent."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # as many processes as cores train at once
    model = network(trial)
    last = list(model[-1].parameters())
    groups = [
        {"params": [*model[1].parameters(), *model[4].parameters()], "weight_decay": trial["decay"]},
        {"params": last, "weight_decay": trial["last_decay"]},
    ]
    optimizer = torch.optim.SGD(groups, lr=trial["learning_rate"], momentum=1 - trial["friction"])
    for epoch in range(EPOCHS):
        for rows in (valid + torch.randperm(len(x) - valid)).split(trial["batch"]):
            loss = functional.cross_entropy(model(x[rows] / 255), y[rows])
            if not math.isfinite(loss.item()):
                raise ArithmeticError("diverged")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if trial["anneal"]:
            for group in optimizer.param_groups:
                group["lr"] = trial["learning_rate"] * (1 - (epoch + 1) / EPOCHS)
    model.eval()
    with torch.no_grad():
        return 100 * float((model(x[:valid] / 255).argmax(1) != y[:valid]).float().mean())


def main() -> None:
    Path("out").mkdir(exist_ok=True)
    study = sonde.Study(SPACE, strategy="dngo", storage="sqlite:///out/networks.db", name="networks", seed=0)
    study.optimize(train, int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS, workers=os.cpu_count())
    failed = np.array([trial.state == "failed" for trial in study.trials])
    quarters = ", ".join(f"{100 * part.mean():.0f}%" for part in np.array_split(failed, 4) if len(part))
    print(f"diverged, by quarter of the trials: {quarters}")
    print(f"best validation error {study.best_value:.2f}% with {study.best_params}")


if __name__ == "__main__":
    main()
