"""What the paper prints: the numbers of its tables, by table, scheme and measure.

An estimate is a point with the low and the high end of its interval. Numbers of tables and figures are those of the
compiled paper; "S" stands before those of the supplement.
"""

# Table 5 and table S2: (U_m, U_a) of the simulated data.
SIMULATION_ECDF = {
    "Synthesizer": (0.0451, 0.0006),
    "Marginal r=.30": (0.1061, 0.0040),
    "Marginal r=.25": (0.1124, 0.0045),
    "Marginal r=.20": (0.1152, 0.0048),
    "Marginal r=.15": (0.1088, 0.0043),
    "Pairwise r=.15": (0.0378, 0.0003),
}

# Table 6, first row: the confidential data, bootstrapped.
SIMULATION_DATA = {"mean": (100.70, 98.68, 102.58), "median": (97.93, 95.49, 101.00)}

# Table 6: by scheme and number of tables; Marginal is at radius .20.
SIMULATION_TABLES = {
    ("Synthesizer", 30): {"mean": (100.46, 96.63, 104.34), "median": (97.09, 93.00, 101.00)},
    ("Synthesizer", 20): {"mean": (100.99, 97.28, 104.69), "median": (97.60, 93.00, 101.50)},
    ("Synthesizer", 10): {"mean": (100.95, 97.07, 104.97), "median": (97.36, 93.00, 102.00)},
    ("Synthesizer", 5): {"mean": (99.76, 96.71, 103.33), "median": (96.59, 93.00, 101.00)},
    ("Synthesizer", 1): {"mean": (102.05, 99.97, 104.04), "median": (99.82, 97.00, 102.00)},
    ("Marginal r=.20", 30): {"mean": (102.37, 99.49, 104.87), "median": (101.05, 98.00, 103.50)},
    ("Marginal r=.20", 20): {"mean": (102.60, 100.13, 105.02), "median": (101.37, 98.00, 105.00)},
    ("Marginal r=.20", 10): {"mean": (102.93, 99.92, 105.34), "median": (101.63, 98.00, 105.00)},
    ("Marginal r=.20", 5): {"mean": (102.26, 99.69, 104.64), "median": (101.00, 98.00, 104.00)},
    ("Marginal r=.20", 1): {"mean": (103.78, 102.34, 105.12), "median": (103.15, 101.00, 105.00)},
}

# Tables 7, S1 and S3: (U_m, U_a) of the Consumer Expenditure sample of 2017, which is confidential.
APPLICATION_ECDF = {
    "Synthesizer": (0.0151, 3.6e-05),
    "Marginal": (0.0755, 0.0018),
    "Pairwise": (0.0356, 0.0004),
    "Pairwise c=1.5": (0.0382, 0.0004),
    "Pairwise g=.1": (0.0286, 0.0002),
}

# Table 4.
APPLICATION_ESTIMATES = {
    "Data": {
        "mean": (72075.60, 70068.61, 74037.96),
        "median": (50225.15, 48995.01, 52000.00),
        "90% quantile": (153916.30, 147582.40, 159603.80),
        "coefficient": (-45826.20, -49816.29, -41836.11),
    },
    "Synthesizer": {
        "mean": (72377.12, 69639.31, 75284.18),
        "median": (50538.50, 48410.30, 52673.39),
        "90% quantile": (152597.10, 146203.30, 159957.80),
        "coefficient": (-46017.29, -50239.20, -41795.37),
    },
    "Marginal": {
        "mean": (76641.95, 68431.36, 88069.02),
        "median": (54229.08, 51686.27, 57231.27),
        "90% quantile": (134582.40, 127342.40, 142549.80),
        "coefficient": (-34738.85, -46792.90, -22684.81),
    },
}

# Section 3.2: interquartile range of the records' risk.
APPLICATION_RISK_IQR = {"Marginal": 0.1534, "Pairwise": 0.1385}

# Tables 2 and 3: mean risk of the ten riskiest and of the ten largest records, over the ten printed rows.
APPLICATION_TOP = {
    "riskiest": {"Data": 0.99193, "Synthesizer": 0.06378, "Marginal": 0.00496, "Topcoding": 0.58855},
    "largest": {"Data": 0.98085, "Synthesizer": 0.03981, "Marginal": 0.00482, "Topcoding": 0.09955},
}
