"""Identification risk of confidential and released data: intruder model, close neighbours, match rates, weights."""
