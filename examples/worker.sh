#!/bin/sh
# Workers of one study in an array of Slurm jobs: sbatch worker.sh http://host:8080 cnn
#SBATCH --array=1-16
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@60
#
# The token is in SONDE_TOKEN. Each worker ends when there was nothing to do for ten minutes. A minute before its time is
# over Slurm sends SIGTERM, and the worker gives its trial back. What it could not tell is told by the next one that
# starts in the same folder.
exec sonde worker "$1" --name "$2" --idle 600 --spool spool --logs logs -- python train.py --lr {lr} --layers {layers}
