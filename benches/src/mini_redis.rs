//! The protocol and the store of the example `mini_redis`, without its sockets.

#[path = "../../examples/mini_redis/command.rs"]
mod command;
#[path = "../../examples/mini_redis/resp.rs"]
mod resp;
#[path = "../../examples/mini_redis/session.rs"]
pub(crate) mod session;
#[path = "../../examples/mini_redis/store.rs"]
pub(crate) mod store;
