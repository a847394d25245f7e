//! From the network to the store: the life of each archived PV.
