"""One training loop for all networks.

AdamW on batches that are drawn on the device, gradient clipping, a learning rate that warms up and then
stays (or falls by a cosine), and an average of the weights whose horizon is a fixed share of the steps
taken so far, so that at every step the average is the one that a training of that length would have ended with.
That is what makes the stopping rule simple: the averaged network is validated at growing intervals, the
best is kept, and a later training on all data for the same number of steps goes through the same states.
"""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from grade.errors import InputError
from grade.estimators.reports import Report, TrainingReport
from grade.estimators.training.compiling import tell, try_compile
from grade.estimators.training.state_file import StateFile
from grade.settings import TrainingSettings

Draw = Callable[[int], tuple[Any, ...]]
"""Draws a batch of the given size: the arguments of the loss besides the network."""
Loss = Callable[..., Tensor]
"""(network, the batch ...) -> the loss, a scalar."""

CHECKPOINT_SECONDS = 60.0
LOG_EVERY = 100
COMPILED_STEPS = 3_000  # shorter trainings take less time than their compilation
FIRST_VALIDATION, VALIDATION_GROWTH = 40, 1.15
PATIENCE = 1.8  # give up when the best state lies this factor of steps back


@dataclass
class Trained:
    """The result of a training: the averaged network at the best step, and how it went."""

    network: nn.Module
    step: int
    value: float  # the validation's figure at that step; the last mean loss without a validation
    history: list[tuple[int, float]] = field(default_factory=list)


def train(
    build: Callable[[], nn.Module],
    draw: Draw,
    loss: Loss,
    settings: TrainingSettings,
    *,
    steps: int,
    seed: int,
    device: torch.device,
    bfloat16: bool = False,
    compile: bool = False,
    validate: Callable[[nn.Module], float] | None = None,
    checkpoint: StateFile | None = None,
    phase: str = "training",
    report: Report | None = None,
) -> Trained:
    """Train the network that ``build`` makes for at most ``steps`` steps.

    Parameters
    ----------
    draw
        draws a batch of the given size, on the device
    loss
        the loss of a network on a batch. Both functions take their random numbers from torch's default generator and
        from nowhere else, so that a resumed training repeats an uninterrupted one
    validate
        a figure for the averaged network, lower being better; with it, training stops when the figure has not improved
        for long, and the network at the best step is returned
    bfloat16, compile
        compute in bfloat16 where it is safe; compile long trainings on a GPU
    checkpoint
        a file that is written now and then, read when it exists, and removed by the caller
    phase
        the name of this training in its reports
    """
    with seeded(seed, device):
        run = Run(build(), settings, device, steps, bfloat16)
        if checkpoint is not None:
            run.load(checkpoint)
        advance = run.stepper(draw, loss, compile)
        started, first, saved = time.monotonic(), run.step, time.monotonic()
        next_validation = validation_after(run.history[-1][0] if run.history else 0)
        while run.step < steps and not run.stalled:
            advance()
            if validate is not None and (run.step >= next_validation or run.step == steps):
                run.note(validate(run.average))
                next_validation = validation_after(run.step)
            if run.step % LOG_EVERY == 0 or run.step == steps:
                mean = run.mean_loss()
                seconds = time.monotonic() - started
                if report is not None:
                    eta = seconds / (run.step - first) * (steps - run.step)
                    report(
                        TrainingReport(
                            phase=phase,
                            step=run.step,
                            steps=steps,
                            loss=mean,
                            seconds=seconds,
                            eta=eta,
                            best_step=run.best_step if run.history else None,
                            best=run.best if run.history else None,
                        )
                    )
            if checkpoint is not None and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                run.save(checkpoint)
                saved = time.monotonic()
    return run.result()


def validation_after(step: int) -> int:
    """The next step at which to validate: later and later, so that the cost stays a constant share."""
    return max(FIRST_VALIDATION, math.ceil(step * VALIDATION_GROWTH))


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's default generators seeded inside, and as they were before afterwards."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


class Run:
    """The state of a training between two steps."""

    def __init__(
        self,
        network: nn.Module,
        settings: TrainingSettings,
        device: torch.device,
        steps: int,
        bfloat16: bool,
    ) -> None:
        self.network = network.to(device).train()
        self.average = copy.deepcopy(self.network).eval()
        self.settings, self.device, self.steps, self.bfloat16 = settings, device, steps, bfloat16
        self.parameters: list[Tensor] = list(self.network.parameters())
        self.averages = [p.detach() for p in self.average.parameters()]
        self.step = 0
        self.loss_sum = torch.zeros((), device=device)
        self.loss_count = 0
        self.last_mean = math.nan
        self.best, self.best_step = math.inf, 0
        self.best_state: dict[str, Tensor] = {}
        self.history: list[tuple[int, float]] = []
        self.optimizer = torch.optim.AdamW(
            self.parameters,
            lr=0.0,
            weight_decay=settings.weight_decay,
            amsgrad=settings.amsgrad,
            betas=(0.9, settings.second_moment),
            eps=settings.epsilon,
            foreach=True,
        )

    def stepper(self, draw: Draw, loss: Loss, compile: bool) -> Callable[[], None]:
        """A function that takes one step."""
        # Network and loss are compiled where that is faster. The drawing of batches is not: shapes differ
        # from sample to sample, and one compiled function serves all of them.
        worthwhile = compile and self.device.type == "cuda" and self.steps >= COMPILED_STEPS
        self.draw = draw
        self.losses = [try_compile(loss) if worthwhile else loss, loss]

        def advance() -> None:
            self.step += 1
            self.loss_count += 1
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(self.settings, self.step, self.steps)
            self.optimizer.zero_grad(set_to_none=True)
            value = self.gradients(self.settings.batch)
            nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
            self.optimizer.step()
            with torch.no_grad():
                self.loss_sum += value.detach()
                moves = torch._foreach_sub(self.parameters, self.averages)
                torch._foreach_mul_(moves, average_share(self.settings, self.step))
                torch._foreach_add_(self.averages, moves)

        return advance

    def gradients(self, batch: int) -> Tensor:
        """The loss of a batch, with its gradients in the parameters."""
        loss, plain = self.losses
        drawn = self.draw(batch)
        try:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16, cache_enabled=False):
                value = loss(self.network, *drawn)
            value.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        except Exception as error:
            if loss is plain:
                raise
            tell(error)
            self.losses = [plain, plain]  # it cannot be compiled, forwards or backwards
            self.optimizer.zero_grad(set_to_none=True)
            return self.gradients(batch)
        return value

    def note(self, value: float) -> None:
        """Record the averaged network's validation, and keep the network if it is the best."""
        self.history.append((self.step, value))
        if math.isfinite(value) and value < self.best:
            self.best, self.best_step = value, self.step
            self.best_state = {name: tensor.clone() for name, tensor in self.average.state_dict().items()}

    @property
    def stalled(self) -> bool:
        return self.best_step > 0 and self.step > PATIENCE * max(self.best_step, 2 * FIRST_VALIDATION)

    def mean_loss(self) -> float:
        """Mean loss since the last call; refuses to go on from a loss that is not a number."""
        mean = float(self.loss_sum) / max(self.loss_count, 1)
        if not math.isfinite(mean):
            raise InputError(
                f"The training loss is {mean} at step {self.step}; lower learning_rate (now"
                f" {self.settings.learning_rate:g}) or clip."
            )
        self.loss_sum.zero_()
        self.loss_count, self.last_mean = 0, mean
        return mean

    def result(self) -> Trained:
        if self.best_state:
            self.average.load_state_dict(self.best_state)
            return Trained(self.average, self.best_step, self.best, self.history)
        return Trained(self.average, self.step, self.last_mean, self.history)

    def save(self, file: StateFile) -> None:
        """Everything that the rest of the training depends on."""
        tensors = {f"network.{name}": t for name, t in self.network.state_dict().items()}
        tensors |= {f"average.{name}": t for name, t in self.average.state_dict().items()}
        tensors |= {f"best.{name}": t for name, t in self.best_state.items()}
        for i, parameter in enumerate(self.parameters):
            tensors |= {
                f"optimizer.{i}.{k}": torch.as_tensor(v) for k, v in self.optimizer.state[parameter].items()
            }
        tensors |= {"own.loss_sum": self.loss_sum, "own.generator.cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            tensors["own.generator.cuda"] = torch.cuda.get_rng_state(self.device)
        state = {"step": self.step, "best": self.best, "best_step": self.best_step, "history": self.history}
        file.save(tensors, {**state, "loss_count": self.loss_count, "last_mean": self.last_mean})

    def load(self, file: StateFile) -> None:
        """Go on where `save` left off, if it has been called."""
        saved = file.load()
        if saved is None:
            return
        tensors, state = saved
        self.network.load_state_dict(part(tensors, "network."))
        self.average.load_state_dict(part(tensors, "average."))
        self.best_state = {name: t.to(self.device) for name, t in part(tensors, "best.").items()}
        for i, parameter in enumerate(self.parameters):
            # AdamW keeps its step counter on the CPU.
            self.optimizer.state[parameter] = {
                key: value if key == "step" else value.to(self.device)
                for key, value in part(tensors, f"optimizer.{i}.").items()
            }
        own = part(tensors, "own.")
        self.loss_sum.copy_(own["loss_sum"])
        self.step, self.best, self.best_step = state["step"], state["best"], state["best_step"]
        self.history = [(step, value) for step, value in state["history"]]
        self.loss_count, self.last_mean = state["loss_count"], state["last_mean"]
        torch.set_rng_state(own["generator.cpu"])
        if "generator.cuda" in own and self.device.type == "cuda":
            torch.cuda.set_rng_state(own["generator.cuda"], self.device)


def part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The entries under a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def learning_rate(settings: TrainingSettings, step: int, steps: int) -> float:
    """Linear warm-up, then constant or a cosine down to zero over the planned steps."""
    warm = min(1.0, step / max(settings.warmup, 1))
    if settings.schedule == "constant":
        return settings.learning_rate * warm
    if settings.schedule == "cosine":
        return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps)))
    raise InputError(f"There is no learning-rate schedule {settings.schedule!r}; known are constant, cosine.")


def average_share(settings: TrainingSettings, step: int) -> float:
    """The new weights' share in the average: horizon = ``average`` * step, whatever the number of steps.

    A fixed decay would keep the random initial weights in the average of a short training.

    >>> settings = TrainingSettings(average=0.1)
    >>> average_share(settings, 1), round(average_share(settings, 1000), 3)
    (1.0, 0.01)
    """
    return min(1.0, 1.0 / (settings.average * step)) if settings.average > 0 else 1.0


class MetricsFile:
    """A receiver of reports: a file of JSON lines, TensorBoard where it is installed, and another receiver."""

    def __init__(self, path: Path, phase: str, then: Report | None = None) -> None:
        self.path, self.then = path, then
        try:
            from torch.utils.tensorboard.writer import SummaryWriter

            self.board: Any = SummaryWriter(str(path.parent / "tensorboard" / phase))
        except ImportError:
            self.board = None

    def __call__(self, report: TrainingReport) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(report.to_json()) + "\n")
        if self.board is not None:
            self.board.add_scalar("loss", report.loss, report.step)
        if self.then is not None:
            self.then(report)
