"""The paper's experiments: plan, compiled kernels, runner, statistics, figures, report."""
