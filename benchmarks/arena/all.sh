#!/bin/sh
# All runs of the arena and of the comparison by dimension, the most informative first, and their tables; started again,
# it goes on where it stopped. `make arena` sets up what it needs and calls it.
#   benchmarks/arena/all.sh [CORE]
set -u
cd "$(dirname "$0")/../.." || exit 1
core=${1:-0}
export PYTHONWARNINGS=ignore

arena() { # suite dimension seeds contenders
    nice .venv/bin/python -m benchmarks.arena.run --core "$core" --suite "$1" --dimension "$2" --seeds "$3" \
        --contenders "$4" --budget 100 --out "benchmarks/results/arena/${5:-peers}-$1-$2.csv"
}

dimensions() {
    nice .venv/bin/python -m benchmarks.dimensions.run --full --core "$core" "$@"
}

main() {
    for dimension in 5 10; do
        arena bbob $dimension 2 sonde sonde
        arena bbob-mixint $dimension 2 sonde sonde
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
    .venv/bin/python -m benchmarks.arena.table $(ls benchmarks/results/arena/*.csv | grep -v variants) --against sonde
    .venv/bin/python -m benchmarks.arena.table benchmarks/results/arena/variants-bbob-5.csv --against sonde:gp/draw \
        --name arena_variants
    dimensions --dimensions 2,5,10,20 --seeds 1,2,3 --methods sonde,random,cobyla,cmaes,nevergrad,bobyqa
    dimensions --dimensions 2,5,10 --seeds 1 --methods optuna-gp,turbo
    dimensions --dimensions 40,100 --seeds 1 --methods sonde,random,cobyla,cmaes,nevergrad
}

main
