//! What the server says and refuses, asked over HTTP as a client would: one program for all files, because each takes as long to link as pvark.

mod appliance;
mod appliance_import;
mod appliance_reference;
mod arrow;
mod bad_expressions;
mod bad_input;
mod behaviour;
mod browsers;
mod compressed;
mod damage;
mod defined_once;
mod description;
mod front_end;
mod goldens;
mod listeners;
mod management;
mod matrix;
mod memos;
mod parquet;
mod rights;
mod served;
mod times;
mod tls;
mod undo;
