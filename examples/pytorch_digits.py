"""PyTorch: a small network on handwritten digits, with state_dicts as checkpoints.

    python examples/pytorch_digits.py

Every worker imports torch once, not once per trial. With GPUs, each worker sees its own.
"""
# needs torch, sklearn

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import rungwise as rw

images, digits = load_digits(return_X_y=True)
images = (images / 16).astype("float32")
train_x, val_x, train_y, val_y = (
    torch.from_numpy(part) for part in train_test_split(images, digits, random_state=0)
)


def train(config: dict, run: rw.Run) -> None:
    """Build model and optimiser, load the checkpoint if there is one, then train by epochs."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(run.seed)
    width = config["width"]
    model = nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Dropout(config["dropout"]), nn.Linear(width, 10)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), config["lr"], weight_decay=config["decay"])
    if run.latest:
        saved = torch.load(run.latest / "state.pt", map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    for epoch in run.resources():
        torch.manual_seed(run.seed + epoch)  # so that pausing and resuming changes nothing
        model.train()
        for batch in torch.randperm(len(train_x)).split(config["batch"]):
            optimizer.zero_grad()
            out = model(train_x[batch].to(device))
            nn.functional.cross_entropy(out, train_y[batch].to(device)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(val_x.to(device)).argmax(1).cpu() == val_y
        with run.checkpoint(epoch) as folder:
            saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(saved, folder / "state.pt")
        run.report(epoch, accuracy=right.float().mean())


space = {
    "lr": rw.Float(1e-5, 1e-1, log=True),
    "decay": rw.Float(1e-6, 1e-1, log=True),
    "dropout": rw.Float(0, 0.5),
    "width": rw.Int(8, 256, log=True),
    "batch": [32, 64, 128],
}

if __name__ == "__main__":
    result = rw.tune(
        train,
        space,
        metric="accuracy",
        goal="max",
        max_resource=27,
        trials=27,
        workers=2,
        preload=["torch"],
        show="quiet",
    )
    print(result.why)
    print(f"accuracy {result.best.value:.3f} with {result.best.config}")
