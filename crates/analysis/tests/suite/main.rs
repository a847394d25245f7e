//! The tests of `analysis` against a real store: one program, so that it is linked once.

mod archive_of_three;
mod computed;
mod when;
