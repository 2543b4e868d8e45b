#!/bin/bash
# A Ray cluster under Slurm for one study: one task per node, the first is the head.
#   sbatch examples/cluster/slurm.sh
# Submit it again to go on with the study: what is in the study file is not trained again.
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-task=4
#SBATCH --time=12:00:00

set -eu
shared=/shared/$USER/digits             # a disk that all nodes share
mkdir -p "$shared"
port=6379
head=$(hostname --ip-address | cut -d' ' -f1)  # this script runs on the first node
resources="--num-cpus=$SLURM_CPUS_PER_TASK --num-gpus=${SLURM_GPUS_PER_TASK:-0}"
export RAY_USAGE_STATS_ENABLED=0

srun --nodes=1 --ntasks=1 --nodelist="$SLURMD_NODENAME" --overlap \
    ray start --head --node-ip-address="$head" --port=$port --include-dashboard=false \
    $resources --block &
sleep 20
srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$SLURMD_NODENAME" \
    --overlap ray start --address="$head:$port" $resources --block &

# The study file is written by this node only; checkpoints by all.
python "$(dirname "$0")/tune.py" --address "$head:$port" --workers 16 \
    --study "$shared/digits.db" --checkpoints "$shared/checkpoints"
