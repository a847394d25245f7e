//! Drives the pvAccess state machines: UDP search, one task per circuit, timers.
