#!/bin/sh
# A training in plain sh: gradient descent on (x - 3)^2 with a learning rate and a momentum.
# It resumes from its last checkpoint, reports and saves every epoch, and ends at RUNGWISE_UNTIL.
#
#     rungwise tune study.yaml
set -eu

lr=0.1 momentum=0
while [ $# -gt 0 ]; do # the configuration arrives as --lr 0.1 --momentum 0.5
    case $1 in
    --lr) lr=$2 ;;
    --momentum) momentum=$2 ;;
    *) echo "train.sh: unknown flag $1" >&2 && exit 2 ;;
    esac
    shift 2
done

epoch=$RUNGWISE_START
until=${RUNGWISE_UNTIL:-1000000} # empty: until rungwise ends it
x=0 v=0
if [ -n "$RUNGWISE_LATEST" ]; then
    read -r x v <"$RUNGWISE_LATEST/state"
fi

while [ "$epoch" -lt "$until" ]; do
    epoch=$((epoch + 1))
    # One "epoch": a step downhill, and the loss where it leads.
    set -- $(awk -v x="$x" -v v="$v" -v lr="$lr" -v m="$momentum" \
        'BEGIN { v = m * v - lr * 2 * (x - 3); x += v; printf "%.12g %.12g %.12g", x, v, (x - 3) ^ 2 }')
    x=$1 v=$2 loss=$3

    # A checkpoint is a folder of its own, which is left alone once it has been reported.
    mkdir "$RUNGWISE_SAVE/$epoch"
    echo "$x $v" >"$RUNGWISE_SAVE/$epoch/state"
    echo "{\"resource\": $epoch, \"loss\": $loss, \"checkpoint\": \"$epoch\"}" >>"$RUNGWISE_REPORTS"
done
