"""Source of helper functions for ONNX operators that no single call of PyTorch matches."""

HELPERS = {
    "pad_same": '''
def pad_same(x, kernel, strides, dilations, upper, fill):
    """Pad so that every axis of the result has ceil(size / stride) places."""
    pads = []
    for size, k, s, d in reversed(list(zip(x.shape[2:], kernel, strides, dilations))):
        missing = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        half = missing // 2
        pads += [half, missing - half] if upper else [missing - half, half]
    return F.pad(x, pads, value=fill)
''',
    "reshape": '''
def reshape(x, sizes):
    """ONNX's Reshape: 0 keeps a dimension."""
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(sizes)])
''',
    "unsqueeze": '''
def unsqueeze(x, axes):
    """New dimensions at these places of the result."""
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = x.unsqueeze(axis)
    return x
''',
    "slice_axes": '''
def slice_axes(x, starts, ends, axes=None, steps=None):
    """ONNX's Slice."""
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 0:  # PyTorch has no negative steps: turn the axis round
            x, size = x.flip(axis), x.shape[axis]
            start = size - 1 - (start + size if start < 0 else min(start, size - 1))
            end = size - 1 - (max(end + size, -1) if end < 0 else end)
            step = -step
        index = [slice(None)] * x.dim()
        index[axis] = slice(start, end, step)
        x = x[tuple(index)]
    return x
''',
    "gather": '''
def gather(x, index, axis):
    """ONNX's Gather: the index may have any shape, and count from the end."""
    axis %= x.dim()
    index = torch.where(index < 0, index + x.shape[axis], index).long()
    found = x.index_select(axis, index.reshape(-1))
    return found.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
''',
    "pad_axes": '''
def pad_axes(x, pads, mode, value):
    """ONNX's Pad: all beginnings, then all ends."""
    rank = len(pads) // 2
    flat = [n for i in reversed(range(rank)) for n in (pads[i], pads[i + rank])]
    if mode == "constant":
        return F.pad(x, flat, value=value)
    while len(flat) > 2 and flat[-2:] == [0, 0]:
        flat = flat[:-2]
    mode = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}[mode]
    lead = x.dim() - max(len(flat) // 2 + 2, 3)
    if lead < 0:
        return F.pad(x[(None,) * -lead], flat, mode=mode)[(0,) * -lead]
    return F.pad(x, flat, mode=mode)
''',
    "divide": '''
def divide(a, b):
    """Whole numbers are divided towards zero, as in ONNX."""
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")
''',
    "lstm": '''
def lstm(x, w, r, bias=None, hidden=None, cell=None):
    """ONNX's LSTM in one direction: all states, the last one, the last cell."""
    size = r.shape[-1]
    hidden = x.new_zeros(x.shape[1], size) if hidden is None else hidden[0]
    cell = x.new_zeros(x.shape[1], size) if cell is None else cell[0]
    shift = 0 if bias is None else bias[0, : 4 * size] + bias[0, 4 * size :]
    states = []
    for step in x:
        i, o, f, c = (step @ w[0].T + hidden @ r[0].T + shift).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(c)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        states.append(hidden)
    return torch.stack(states).unsqueeze(1), hidden.unsqueeze(0), cell.unsqueeze(0)
''',
    "local_response_norm": '''
def local_response_norm(x, size, alpha, beta, bias):
    """ONNX's LRN: a window of channels from floor((size - 1) / 2) before to ceil((size - 1) / 2) after."""
    square = F.pad(x.square(), (0, 0) * (x.dim() - 2) + ((size - 1) // 2, size // 2))
    window = square.unfold(1, size, 1).sum(-1)
    return x / (bias + alpha / size * window) ** beta
''',
}
