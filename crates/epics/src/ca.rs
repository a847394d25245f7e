//! Channel Access: the client, its messages and its values.
