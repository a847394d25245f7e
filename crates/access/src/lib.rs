//! Access: a place.
