//! Drives the Channel Access state machines: UDP search, one task per circuit, timers.
