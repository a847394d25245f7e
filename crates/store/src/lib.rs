//! The storage engine: log, head, immutable compressed blocks, catalogue.
