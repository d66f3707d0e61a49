"""The paper's simulation study and its application run again, each table and figure beside the paper's.

Only the public names of Molehill are used. Run from the root of the repository, for instance

    python -m studies.paper simulation --quick
"""
