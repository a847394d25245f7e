//! pvAccess: the client, its messages, types and values.
