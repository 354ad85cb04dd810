"""Who competes: plain modules and estimators, built from a Model."""
