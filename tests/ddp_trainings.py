"""Trainings in two ranks, for workers of their own: PyTorch does not survive a fork once used."""

import os
import socket
import tempfile
import time
from pathlib import Path

import torch

RANKS = 2


def run_ranks(rank_function, config, run):
    """Fork two ranks, and wait for them."""
    with tempfile.TemporaryDirectory() as meeting:
        given = (rank_function, config, run.share(), meeting)
        torch.multiprocessing.start_processes(enter, given, nprocs=RANKS, start_method="fork")


def enter(rank, rank_function, config, run, meeting):
    torch.set_num_threads(1)
    where = Path(meeting, "ranks").as_uri()
    torch.distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=RANKS)
    rank_function(rank, config, run)
    torch.distributed.destroy_process_group()


def train_plain(config, run):
    run_ranks(train_rank, config, run)


def train_rank(rank, config, run):
    from rungwise.integrations.torch import Report  # noqa: PLC0415

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.Adam(model.parameters(), config["lr"])
    report = Report(run, model=model, optimizer=optimizer)
    x = torch.linspace(-1, 1, 32).reshape(16, 2)
    mine = slice(rank, None, RANKS)
    seen = []
    for epoch in report.resources():
        loss = ((model(x[mine]) - x[mine].sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            whole = ((model.module(x) - x.sum(1, keepdim=True)) ** 2).mean()
        if config.get("diverges") and epoch == 2 and rank == 0:
            whole = whole * float("nan")
        seen.append((epoch, report(epoch, loss=whole)))
    note(config, run, rank, seen)


def note(config, run, rank, seen):
    path = Path(config["folder"], f"trial-{run.trial}-from-{run.start}-rank-{rank}")
    path.write_text(repr(seen))


def train_lightning(config, run):
    import lightning  # noqa: PLC0415

    from rungwise.integrations.lightning import Report  # noqa: PLC0415

    report = Report(run.share(), monitor="val_loss")
    trainer = lightning.Trainer(
        callbacks=[report, make_witness(config, run)],
        accelerator="cpu",
        devices=RANKS,
        strategy="ddp_fork",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=config["folder"],
        **report.trainer_arguments,
    )
    trainer.fit(make_module(config), **report.arguments)


def make_witness(config, run):
    import lightning  # noqa: PLC0415

    class Witness(lightning.Callback):
        """Notes when a rank leaves."""

        def on_train_end(self, trainer, pl_module):
            note(config, run, trainer.global_rank, trainer.current_epoch)

    return Witness()


def make_module(config):
    import lightning  # noqa: PLC0415

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer = torch.nn.Linear(2, 1)

        def loss(self, batch):
            (x,) = batch
            return ((self.layer(x) - x.sum(1, keepdim=True)) ** 2).mean()

        def training_step(self, batch, number):
            return self.loss(batch)

        def validation_step(self, batch, number):
            if config.get("logs", True):
                self.log("val_loss", self.loss(batch), sync_dist=True)
                self.log("val_twice", 2 * self.loss(batch), sync_dist=True)

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), config["lr"])
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 27)
            return {"optimizer": optimizer, "lr_scheduler": schedule}

        def make_loader(self):
            x = torch.linspace(-1, 1, 32).reshape(16, 2)
            return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), batch_size=4)

        train_dataloader = val_dataloader = make_loader

    return Module()


def train_trainer(config, run):
    """The Trainer of transformers in two ranks, which it joins by itself, as under torchrun."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = (config, run.share(), port)
    torch.multiprocessing.start_processes(
        train_trainer_rank, given, nprocs=RANKS, start_method="fork"
    )


def train_trainer_rank(rank, config, run, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(RANKS))
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    torch.set_num_threads(1)
    import transformers  # noqa: PLC0415

    from rungwise.integrations.transformers import Report  # noqa: PLC0415

    class Witness(transformers.TrainerCallback):
        """Notes which steps a rank has trained."""

        def __init__(self):
            self.steps = []

        def on_step_end(self, args, state, control, **_):
            self.steps.append(state.global_step)

    report, witness = Report(run, monitor="eval_loss"), Witness()
    arguments = transformers.TrainingArguments(
        output_dir=str(run.folder / "trainer"),
        num_train_epochs=report.end,
        learning_rate=config["lr"],
        per_device_train_batch_size=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        ddp_backend="gloo",
        seed=3,
    )
    assert arguments.world_size == RANKS
    x = torch.linspace(-1, 1, 32).reshape(16, 2)
    rows = [{"x": row, "labels": row.sum().reshape(1)} for row in x]
    torch.manual_seed(0)
    trainer = transformers.Trainer(
        make_dropout_model(),
        arguments,
        train_dataset=rows,
        eval_dataset=rows,
        callbacks=[report, witness],
    )
    save = trainer._save_rng_state
    # The last rank to write its part of a checkpoint is not the one that copies it.
    trainer._save_rng_state = lambda folder: (time.sleep(0.2 * rank), save(folder))
    trainer.train(**report.arguments)
    note(config, run, rank, witness.steps)
    torch.distributed.destroy_process_group()


def make_dropout_model():
    class Model(torch.nn.Module):
        """With dropout, so that the random state of every rank matters."""

        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(2, 8), torch.nn.Dropout(0.3), torch.nn.Linear(8, 1)
            )

        def forward(self, x, labels):
            out = self.layers(x)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    return Model()
