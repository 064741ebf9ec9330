//! Copying in the kernel, files, standard input and output.

pub use gmp_net::io::{
    Blocking, Stderr, Stdin, StdinLines, Stdout, copy, copy_bidirectional, stderr, stdin, stdout,
};
