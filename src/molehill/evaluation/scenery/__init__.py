"""What scenes are made of: expected risk, curves and attacks, each worked out once and when it is asked for."""
