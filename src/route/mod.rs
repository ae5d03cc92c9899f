//! L1: the routes, each a way to fill an empty magazine and to take a full one back.

pub mod legacy;
