"""Every scheduler on one table of learning curves: what does each pay, and what does it find?

    python examples/compare_schedulers.py

The curves are generated; put your own into ``rw.Table(values, seconds=…, goal=…)``.
"""

import rungwise as rw

EPOCHS = 81
table = rw.power_laws(rows=243, resources=EPOCHS, seed=7)
best = table.values[:, -1].min()

schedulers = {
    "PASHA": rw.PASHA(max_resource=EPOCHS),
    "PASHA, stopping": rw.PASHA(max_resource=EPOCHS, variant="stopping"),
    "PASHA, leader": rw.PASHA(max_resource=EPOCHS, ranking=rw.rankings.Leader()),
    "ASHA": rw.ASHA(max_resource=EPOCHS),
    "successive halving": rw.SuccessiveHalving(max_resource=EPOCHS),
    "Hyperband": rw.Hyperband(max_resource=EPOCHS),
    "Hyperband, asynchronous": rw.AsyncHyperband(max_resource=EPOCHS),
    "three epochs each": rw.FixedResource(3),
    "random search": rw.RandomSearch(max_resource=EPOCHS),
}

print(f"{'':24} {'epochs':>7} {'hours':>7} {'furthest':>9} {'winner behind the best by':>26}")
for name, scheduler in schedulers.items():
    result = rw.simulate(table, scheduler, trials=243, workers=4, seed=0)
    behind = table.values[result.best.row, -1] - best
    hours = result.seconds / 3600
    print(
        f"{name:24} {result.resource_spent:7} {hours:7.2f} {result.max_resource:9} {behind:26.4f}"
    )
