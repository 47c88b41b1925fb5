"""Importing the metrics must not pull in what only some of them need."""

import subprocess
import sys


def test_importing_the_metrics_loads_no_heavy_library():
    code = (
        "import sys, routelens.metrics; "
        "heavy = {'sklearn', 'pandas', 'scipy', 'transformers', 'transformer_lens', 'matplotlib'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
