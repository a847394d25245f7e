//! The clients and servers of both protocols against recorded bytes, each other and the real ones. One program for all files, which link once.

mod ca_client;
mod ca_golden;
mod ca_hostile;
mod ca_interop;
mod ca_search;
mod ca_served;
mod ca_server_hostile;
mod golden;
mod peers;
mod pva_breaches;
mod pva_client;
mod pva_conversation;
mod pva_golden;
mod pva_hostile;
mod pva_hub;
mod pva_hub_begin;
mod pva_put;
mod pva_referee;
mod pva_search;
mod pva_served;
mod pva_server;
mod pva_values;
mod samples;
