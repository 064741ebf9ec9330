//! Runs each example as a separate program, with clients of other projects: curl, hyper, rustls,
//! tungstenite. Without curl its tests print a warning and pass.

mod axum;
mod client;
mod curl;
mod grpc;
mod h2;
mod http;
mod http2;
mod no_tokio;
mod server;
mod tls;
mod websocket;
