"""Identification risk: whose eyes, who is close to whom, the risk of confidential and released tables, and weights."""
