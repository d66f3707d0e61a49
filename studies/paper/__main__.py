"""Run a study of the paper, or join the pages of those that were run: see `python -m studies.paper --help`."""

import argparse
import os
import sys
from pathlib import Path

from studies.paper.application import read_survey, run_application, write_application
from studies.paper.page import join_pages
from studies.paper.simulation import read_counts, run_simulation, write_simulation


def main() -> None:
    """Read the command, run it, and say where the result is."""
    parser = argparse.ArgumentParser(prog="python -m studies.paper", description=sys.modules["studies.paper"].__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text, data in (
        ("simulation", "section 2.4 and supplement section 6", "counts; by default drawn as in the paper"),
        ("application", "sections 2.3 and 3.2 and supplement section 7", "CE sample; by default a simulated survey"),
    ):
        study = commands.add_parser(name, help=text)
        study.add_argument("--data", type=Path, help=data)
        study.add_argument("--out", type=Path, default=Path(f"reproduction-{name}"), help="folder; goes on with it")
        study.add_argument("--quick", action="store_true", help="fewer replicates and fits, the same tables")
        study.add_argument("--seed", type=int, default=1)
    page = commands.add_parser("page", help="join the pages of studies into one, with their figures in images/")
    page.add_argument("folders", type=Path, nargs="+")
    page.add_argument("--out", type=Path, default=Path("docs"))
    given = parser.parse_args()
    if given.command == "page":
        print(f"Written: {join_pages(given.folders, given.out)}")
        return
    words = ["python -m studies.paper", given.command]
    words += [] if given.data is None else [f"--data {given.data}"]
    words += ["--quick"] if given.quick else []
    words += [] if given.seed == 1 else [f"--seed {given.seed}"]
    if given.command == "simulation":
        sizes = {"replicates": 20, "refits": 1} if given.quick else {}
        counts, workers = read_counts(given.data, seed=given.seed), os.cpu_count() or 1
        results = run_simulation(counts, given.out, seed=given.seed, workers=workers, **sizes)
        write_simulation(results, given.out, " ".join(words))
    else:
        sizes = {"replicates": 4, "refits": 1} if given.quick else {}
        results = run_application(*read_survey(given.data), given.out, seed=given.seed, **sizes)
        write_application(results, given.out, " ".join(words), "survey" if given.data is None else "CE-sample")
    print(f"Open {given.out / 'reproduction.md'}; tables and figures are beside it.")


if __name__ == "__main__":
    main()
