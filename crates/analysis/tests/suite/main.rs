//! The tests of `analysis` against a real store: one program, so that it is linked once.

mod archive_of_three;
mod arrays;
mod computed;
mod histogram;
mod pairs;
mod spectrum;
mod when;
