"""The publication, reproduced: its simulation study and its application, each table and figure beside the paper's."""
