"""A GPU that several processes share."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shared_gpu(wanted: bool) -> Iterator[bool]:
    """NVIDIA's multi-process service, so that the kernels of several processes run at the same time.

    Without it they take turns. True where it was started and a process could use the GPU through it, or where the
    environment names one, which is taken to run.
    """
    control, gpu = shutil.which("nvidia-cuda-mps-control"), Path("/dev/nvidiactl").exists()
    if gpu and "CUDA_MPS_PIPE_DIRECTORY" in os.environ:
        yield True
        return
    if not wanted or control is None or not gpu:
        yield False
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        places = {"CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        environment = {**os.environ, **places}
        probe = [sys.executable, "-c", "import torch; print(torch.ones(2, device='cuda').sum().item())"]
        daemon = works = False
        try:
            daemon = subprocess.run([control, "-d"], env=environment, timeout=10).returncode == 0
            works = daemon and (
                subprocess.run(probe, env=environment, timeout=60, capture_output=True).returncode == 0
            )
            if (
                works
            ):  # a process that the service does not reach uses the GPU without it, and does not say so
                question = b"get_server_list\n"
                listed = subprocess.run(
                    [control], input=question, env=environment, timeout=10, capture_output=True
                )
                works = bool(listed.stdout.strip())
        except subprocess.TimeoutExpired:
            pass  # the jobs take turns, then
        if works:
            os.environ.update(places)  # the jobs inherit it
        try:
            yield works
        finally:
            for name in places:
                os.environ.pop(name, None)
            if daemon:
                try:
                    subprocess.run([control], input=b"quit\n", env=environment, timeout=10, check=False)
                except subprocess.TimeoutExpired:
                    print("The multi-process service did not end in time.", file=sys.stderr)
