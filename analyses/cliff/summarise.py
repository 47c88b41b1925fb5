"""From a run to the small committed results: the report's numbers for each policy and ratio, two figures, the manifest."""

import argparse
import json
from pathlib import Path

import routelens as rl
from routelens.viz import figure_accuracy, figure_outcomes

MEASURES = (
    "correct",
    "hallucination",
    "unknown",
    "degenerate",
    "caused_failure",
    "f1",
    "eviction_rate_layer",
    "ger_layer",
    "erased_layer",
    "n_kept_mean",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = rl.read_run(options.run)
    rows["model"] = [Path(name).name for name in rows["model"]]
    numbers = rl.write_report(rows, options.out / "report.html", figures=()).numbers
    (options.out / "report.html").unlink()
    chosen = numbers[numbers.measure.isin(MEASURES)].round(4)
    chosen.to_csv(options.out / "numbers.csv", index=False)
    for name, figure in (("accuracy", figure_accuracy), ("outcomes", figure_outcomes)):
        figure(rows).savefig(options.out / f"{name}.png", dpi=110)
    manifest = rl.read_manifest(options.run)
    manifest.pop("columns", None)
    for settings in (manifest, manifest["config"]):
        settings["model"] = Path(settings["model"]).name
    (options.out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    wide = chosen.pivot_table(index=["policy", "x"], columns="measure", values="mean")
    print(wide[[name for name in MEASURES if name in wide]].round(2).to_string())


if __name__ == "__main__":
    main()
