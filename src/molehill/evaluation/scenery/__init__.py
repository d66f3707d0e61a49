"""What scenes are made of, each worked out once: expected risk, curves, attacks, what the strongest intruder learns.

`asked` has the records that the strongest intruder is asked about, by `membership` and by `attribute`.
"""
