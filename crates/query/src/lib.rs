//! What was recorded of these PVs from t0 to t1, raw or reduced to bins.
