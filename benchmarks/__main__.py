"""`make bench`: every benchmark, one after another."""

import subprocess
import sys

for name in ("drain", "import_large", "graph_page", "watchers", "seen"):
    print(f"== {name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
