#!/bin/sh
# All runs of the other optimizers, the most informative first; started again, it goes on where it stopped.
#   benchmarks/arena/peers.sh [CORE]
set -u
cd "$(dirname "$0")/../.." || exit 1
core=${1:-0}
export PYTHONWARNINGS=ignore

arena() { # suite dimension seeds contenders
    nice .venv/bin/python -m benchmarks.arena.run --core "$core" --suite "$1" --dimension "$2" --seeds "$3" \
        --contenders "$4" --budget 100 --out "benchmarks/results/arena/peers-$1-$2.csv"
}

main() {
    for dimension in 5 10; do
        arena bbob $dimension 2 random,optuna-tpe,cmaes
        arena bbob-mixint $dimension 2 random,optuna-tpe,cmaes
    done
    arena bbob 5 1 optuna-gp,botorch
    arena bbob-mixint 5 1 optuna-gp
    arena bbob 10 1 optuna-gp
    arena bbob-mixint 10 1 optuna-gp
    arena bbob-mixint 5 1 botorch
    arena bbob 10 1 botorch
    arena bbob-mixint 10 1 botorch
    for dimension in 5 10; do
        arena bbob $dimension 2 optuna-gp,nevergrad
        arena bbob-mixint $dimension 2 optuna-gp,nevergrad
    done
}

main
